#pragma once

// RunJournal: which ways to run kernels took the GPU, or the process, with them. Such a way is
// written down before it runs for the first time. What a process does not come back from is barred
// from then on: else every restart would meet it again.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// Thread-safe. It only saves processes, so nothing fails: where it cannot be written, the first
// failure is logged, and a way that kills is met again.
class RunJournal {
 public:
  virtual ~RunJournal() = default;
  // Whether a process on this device began to run it and did not come back.
  virtual bool IsBarred(const std::string& way) const = 0;
  // Returns false if all of them have come back in this process before: then nothing is written.
  // Otherwise they are written down until Returned.
  virtual bool Begin(const std::vector<std::string>& ways) = 0;
  virtual void Returned(const std::vector<std::string>& ways) = 0;
};

// In a folder, made if missing, that several processes may use at once; for ways on the device of
// that fingerprint. Two kinds of files, both text of one way a line:
//
//   running-PID-...  what a process is running for the first time; locked (flock) while it lives
//   barred           what was left in files of processes that are gone. To have one tried again,
//                    delete its line.
//
// A line is the first twelve digits of the fingerprint's SHA-256, a tab, and the way with its line
// break as a tab.
std::unique_ptr<RunJournal> OpenRunJournal(const std::string& directory,
                                           const std::string& fingerprint);

// What a way to run a kernel is called in journals.
std::string JournalName(absl::string_view kernel_key, absl::string_view way);

inline absl::Status ResultStatus(const absl::Status& status) { return status; }
template <typename T>
absl::Status ResultStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

// Runs `work`, which returns a Status or a StatusOr and launches these ways. What comes back is
// not barred; a GPU that is lost while they run has not come back. Where it was lost before, they
// are not to blame. `journal` may be null.
template <typename Work>
auto RunByJournal(RunJournal* journal, const Gpu& gpu, const std::vector<std::string>& ways,
                  Work&& work) -> decltype(work()) {
  if (journal == nullptr || !gpu.health().ok() || !journal->Begin(ways)) return work();
  auto result = work();
  if (GetReason(ResultStatus(result)) != Reason::kDeviceLost) journal->Returned(ways);
  return result;
}

}  // namespace quotient::kernels::cuda
