#pragma once

// RuleStore: what the rewrite rules did in all jobs, and what they were worth, kept in a file
// beside the timings of kernels.
//
// The file is small, and a job adds to it once, at its end. So a writer reads all of it, adds its
// job, and replaces the file as a whole: a reader needs no lock, and a writer that dies leaves the
// file as it was. Writers exclude each other by a lock on a second file (PATH.lock), since the
// first one is replaced.
//
// A job counts at least once: a server that dies between counting it and keeping its result runs
// and counts it again.

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::timing {

// A rule as it was at some time.
struct RuleVersion {
  std::string name;
  std::string version;  // Differs if the rule does something else.
  friend auto operator<=>(const RuleVersion&, const RuleVersion&) = default;
};

// What a rule did in some jobs.
struct RuleTotals {
  int64_t jobs = 0;      // Jobs in which it had a match.
  int64_t jobs_won = 0;  // Jobs whose result it is used in.
  int64_t matches = 0;   // This and the next four: report::RuleFigures.
  int64_t applied = 0;
  int64_t enodes = 0;
  int64_t uses = 0;
  // Sums over the jobs of what was saved, as a share of the predicted cost of the original.
  double saved = 0;
  double saved_alone = 0;
  int64_t last_unix_s = 0;  // The time of the last of these jobs.

  RuleTotals& operator+=(const RuleTotals& other);
  friend bool operator==(const RuleTotals&, const RuleTotals&) = default;
};

// What all rules did on one device.
struct DeviceRules {
  int64_t jobs = 0;  // All jobs, also those in which no rule had a match.
  int64_t last_unix_s = 0;
  std::map<RuleVersion, RuleTotals> rules;

  DeviceRules& operator+=(const DeviceRules& other);
  friend bool operator==(const DeviceRules&, const DeviceRules&) = default;
};

// By the fingerprint of the device.
using RuleTable = std::map<std::string, DeviceRules>;

// A table is kept within these sizes, since clients of a server may name any number of snapshots.
// What was used last longest ago is dropped first, but not the device that was just added.
inline constexpr size_t kMostRuleDevices = 64;
inline constexpr size_t kMostRulesOfDevice = 2'000;

// Thread-safe: each call opens the file anew.
class RuleStore {
 public:
  explicit RuleStore(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // What was added so far; empty if there is no file. Records that are damaged are left out, and so
  // are all behind a record whose length is damaged, with a line in the log. STORAGE_DOWN if the
  // file cannot be read, is of another version or something else.
  absl::StatusOr<RuleTable> Read() const;
  // Adds a job. Blocks while another writer works, for about a second; STORAGE_DOWN if that one has
  // not finished then. Times in the file that are later than the job's become the job's. Fails as
  // Read does, and leaves the file then as it was. INVALID_ARGUMENT for a fingerprint that is empty
  // or longer than 4096 bytes.
  absl::Status Add(absl::string_view fingerprint, const DeviceRules& job) const;

 private:
  const std::string path_;
};

}  // namespace quotient::timing
