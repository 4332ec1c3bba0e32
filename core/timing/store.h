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

// The numbers are stored in timing files.
enum class TimingState : uint8_t {
  kOk,
  kUnsupported,  // The device cannot run the kernel.
  kFailed,       // Not timed, for a reason that may be temporary.
  kNoisy         // Timed, but the machine was never quiet for long enough.
};

// One observation of one kernel on one device.
struct Timing {
  TimingState state = TimingState::kFailed;
  double min_us = 0;  // The value of the kernel: minimum of the clean samples, if there are enough.
  double q25_us = 0;
  double median_us = 0;
  double relative_spread = 0;  // (q25 - min) / min
  int samples = 0;             // Number of clean samples.
  std::string plan;            // CompiledKernel::plan() of the fastest way to run the kernel.

  bool has_time() const { return state == TimingState::kOk || state == TimingState::kNoisy; }
  // Whether the time can be relied on. That of a noisy timing cannot if its samples differ widely:
  // where fewer than a quarter of them are within twice the smallest, that one is luck.
  bool is_reliable() const {
    constexpr double kWidestSpread = 1;
    return state == TimingState::kOk ||
           (state == TimingState::kNoisy && relative_spread <= kWidestSpread);
  }
  friend bool operator==(const Timing&, const Timing&) = default;
};

// Whether `a` is the better estimate of how fast a kernel can run: a timing with a time comes
// before one without, then kOk before kNoisy, then the smaller time.
bool IsBetter(const Timing& a, const Timing& b);

// Observations by (kernel key, fingerprint). Thread-safe.
class TimingStore {
 public:
  virtual ~TimingStore() = default;
  virtual std::optional<Timing> Find(absl::string_view key,
                                     absl::string_view fingerprint) const = 0;
  // All timings that Find would return for a fingerprint, by key.
  virtual std::map<std::string, Timing> All(absl::string_view fingerprint) const = 0;
  // Adds an observation. If a key has several, Find returns the best (IsBetter), and of equals the
  // oldest.
  virtual absl::Status Add(absl::string_view key, absl::string_view fingerprint,
                           const Timing& timing) = 0;
};

std::unique_ptr<TimingStore> NewMemoryStore();

// Opens an append-only file with a checksum per record, and creates it if it is missing. Records
// that are damaged are passed over. Add cuts off a tail that was not fully written, and if it
// fails, for instance because the disk is full, the file is as it was before. Several processes may
// append to one file (advisory lock); a store sees the records of other processes after its own
// next Add. Errors: STORAGE_DOWN.
absl::StatusOr<std::unique_ptr<TimingStore>> OpenFileStore(const std::string& path);

}  // namespace quotient::timing
