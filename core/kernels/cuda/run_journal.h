#pragma once

// RunJournal: remembers which ways to run kernels crashed the GPU or the process. A way is written
// down before it runs for the first time. If the process does not survive it, the way is barred,
// because otherwise every restart would run it again.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// Thread-safe. The journal only protects processes, so its methods do not fail: if it cannot be
// written, the first failure is logged, and a way that crashes may run again.
class RunJournal {
 public:
  virtual ~RunJournal() = default;
  // Whether a process on this device started to run this way and did not return from it.
  virtual bool IsBarred(const std::string& way) const = 0;
  // Returns false, and writes nothing, if all of these ways have returned before in this process.
  // Otherwise they are written down until Returned is called.
  virtual bool Begin(const std::vector<std::string>& ways) = 0;
  virtual void Returned(const std::vector<std::string>& ways) = 0;
  // Whether this way has returned before in this process.
  virtual bool HasReturned(const std::string& way) const = 0;
};

// A journal in a folder, which is made if missing and may be used by several processes at once, for
// ways on the device with that fingerprint. It has two kinds of text files, with one way per line:
//
//   running-PID-...  what a process is running for the first time; locked (flock) while it lives
//   barred           what was left in files of processes that ended. To try a way again,
//                    delete its line.
//
// A process that is asked to end by a signal, and one that ends by itself, leaves nothing but what
// lost the GPU, or what had been running for seconds (orderly_end.h).
//
// A line is the first twelve digits of the SHA-256 of the fingerprint without the patch level of
// the driver, a tab, and the way's name, in which the line break is replaced by a tab.
std::unique_ptr<RunJournal> OpenRunJournal(const std::string& directory,
                                           const std::string& fingerprint);

// The name of a way to run a kernel in journals.
std::string JournalName(absl::string_view kernel_key, absl::string_view way);

inline absl::Status ResultStatus(const absl::Status& status) { return status; }
template <typename T>
absl::Status ResultStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

// Calls `work`, which returns a Status or a StatusOr and launches these ways. They are barred
// unless `work` returns and the GPU is not lost. If the GPU was lost before, they are not blamed.
// `journal` may be null.
template <typename Work>
auto RunByJournal(RunJournal* journal, const Gpu& gpu, const std::vector<std::string>& ways,
                  Work&& work) -> decltype(work()) {
  if (journal == nullptr || !gpu.health().ok() || !journal->Begin(ways)) return work();
  auto result = work();
  if (GetReason(ResultStatus(result)) != Reason::kDeviceLost) journal->Returned(ways);
  return result;
}

}  // namespace quotient::kernels::cuda
