#pragma once

// Names of threads, by which a crash is told to one job or to none. A thread inherits the name of
// the one that starts it, so the threads that a job starts have the name of the job's worker.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace quotient::jobs {

// The worker's name in leases, and that of its thread. Linux keeps 15 bytes.
inline std::string WorkerName(int number) { return absl::StrCat("worker ", number); }

// While a client's model is inspected.
inline constexpr char kInspectName[] = "inspect";

// Whether what a thread of this name does is done for one job, or for none. Other threads, such as
// that on which kernels are timed, serve all jobs.
inline bool IsWorkOfOne(absl::string_view thread) {
  return thread == kInspectName || thread.substr(0, 7) == "worker ";
}

// Gives the calling thread a name for as long as this lives.
class ThreadName {
 public:
  explicit ThreadName(const std::string& name);
  ~ThreadName();
  ThreadName(const ThreadName&) = delete;
  ThreadName& operator=(const ThreadName&) = delete;

 private:
  char before_[16];
};

}  // namespace quotient::jobs
