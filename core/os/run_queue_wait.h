#pragma once

#include <cstdint>
#include <vector>

namespace quotient::os {

// Reads how long the threads of this process were ready to run but had no core, as counted by the
// scheduler (second field of /proc/PID/task/TID/schedstat; see sched-stats.rst in the Linux
// documentation). This includes a case that getrusage does not count: a thread is woken on a core
// where another process keeps running for a while. Not thread-safe.
class RunQueueWait {
 public:
  RunQueueWait() = default;
  ~RunQueueWait();
  RunQueueWait(const RunQueueWait&) = delete;
  RunQueueWait& operator=(const RunQueueWait&) = delete;

  // Returns the sum over all live threads, each counted since its start; 0 if the kernel does not
  // provide it. Can decrease, when a thread ends. Takes about a microsecond per thread.
  int64_t TotalNs();

 private:
  void FindThreads();

  uint64_t known_threads_ = 0;  // Link count of the task directory when files_ were opened.
  std::vector<int> files_;      // Open schedstat files, one per thread.
};

}  // namespace quotient::os
