#pragma once

// TimingStore: kernel timings that outlive a run, shared by all jobs of a process.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::timing {

enum class TimingState : uint8_t { kOk, kUnsupported, kFailed, kNoisy };

// One observation of one kernel on one device.
struct Timing {
  TimingState state = TimingState::kFailed;
  double min_us = 0;  // clean minimum: the value for ranking
  double q25_us = 0;
  double median_us = 0;
  double relative_spread = 0;  // (q25 - min) / min
  int samples = 0;             // clean ones
  std::string plan;            // kernels::CompiledKernel::plan of the fastest way to run it

  // Whether there is a time at all.
  bool has_time() const { return state == TimingState::kOk || state == TimingState::kNoisy; }
  friend bool operator==(const Timing&, const Timing&) = default;
};

// Whether a says more of how fast a kernel can run: a time at all, then a clean one, then the
// smaller one.
bool IsBetter(const Timing& a, const Timing& b);

// Observations by (kernel key, fingerprint). Thread-safe.
class TimingStore {
 public:
  virtual ~TimingStore() = default;
  virtual std::optional<Timing> Find(absl::string_view key,
                                     absl::string_view fingerprint) const = 0;
  // Everything that Find finds for a fingerprint, by key.
  virtual std::map<std::string, Timing> All(absl::string_view fingerprint) const = 0;
  // Appends an observation; of several for one key the smaller clean minimum is found. One with a
  // time displaces one without.
  virtual absl::Status Add(absl::string_view key, absl::string_view fingerprint,
                           const Timing& timing) = 0;
};

std::unique_ptr<TimingStore> NewMemoryStore();

// An append-only file with a checksum per record; a torn tail is dropped, several processes may
// append (advisory lock). Created if missing. What other processes append is found after the next
// Add. Errors: UNAVAILABLE (STORAGE_DOWN).
absl::StatusOr<std::unique_ptr<TimingStore>> OpenFileStore(const std::string& path);

}  // namespace quotient::timing
