#pragma once

#include <cstdint>
#include <vector>

namespace quotient::timing {

// How long threads of this process were ready to run but had no core, as the scheduler counts it
// (/proc/PID/task/TID/schedstat, second figure: sched-stats.rst of the Linux documentation). Sees
// what getrusage does not: a thread woken on a core where another process goes on for a while. Not
// thread-safe.
class RunQueueWait {
 public:
  RunQueueWait() = default;
  ~RunQueueWait();
  RunQueueWait(const RunQueueWait&) = delete;
  RunQueueWait& operator=(const RunQueueWait&) = delete;

  // Over all threads that there are now, ever; 0 where the kernel does not say. Less than before
  // when threads have ended in between. Takes a microsecond for each thread.
  int64_t TotalNs();

 private:
  void FindThreads();

  uint64_t known_threads_ = 0;
  std::vector<int> files_;  // one of each thread
};

}  // namespace quotient::timing
