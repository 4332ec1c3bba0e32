#pragma once

// The lock file of --lock: what a result was made of, by which engine, and which bytes it has. A
// build that has it takes that result or fails. client/builds/LOCK.md has the format.

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/model_files.h"
#include "core/base/blob_id.h"
#include "core/optimize/options.h"
#include "core/report/report.h"

namespace quotient::cli {

// Lines of a lock file, by their names, in printable ASCII: "option budget" -> "30".
using Pins = std::map<std::string, std::string>;

// The files of a result.
struct ResultFiles {
  BlobId model;
  // The weights, if they are in a file of their own, and what the model calls that.
  std::optional<BlobId> data;
  std::string data_location;
};

struct Lock {
  Pins inputs;  // The model, its external data, and the options of the job that are not defaults.
  Pins result;  // The engine, whether there was an improvement, and the files.

  // Reads what Text writes and nothing else. LOCK_INVALID, naming the line.
  static absl::StatusOr<Lock> Parse(absl::string_view text);

  std::string Text() const;
  // SHA-256 of the text, in hexadecimal. What a result is kept under.
  std::string Key() const;
  std::string engine() const { return result.at(kEngine); }
  // The files that `result` names.
  ResultFiles files() const;

  static constexpr char kEngine[] = "engine";
};

// What a job of this model with these options depends on. OPTION_INVALID for options that have no
// place in lines.
absl::StatusOr<Pins> PinsOfInputs(const client::LocalModel& model,
                                  const optimize::Options& options);
// What a job has made. `engine` is the version that made it.
Pins PinsOfResult(const std::string& engine, report::Outcome outcome, const ResultFiles& files);

// Reads the file. LOCK_MISSING if there is none, LOCK_INVALID.
absl::StatusOr<Lock> ReadLock(const std::string& path);

// LOCK_DIFFERS if what is there now is not what the lock file at `path` pins; says what.
absl::Status CheckPins(const Pins& locked, const Pins& now, absl::string_view path);

}  // namespace quotient::cli
