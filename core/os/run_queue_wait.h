#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <vector>

namespace quotient::os {

// Tells how long the threads of this process were ready to run but had no core. This includes a
// case that getrusage does not count: a thread is woken on a core where another process keeps
// running for a while. Not thread-safe.
class RunQueueWait {
 public:
  RunQueueWait() = default;
  ~RunQueueWait();
  RunQueueWait(const RunQueueWait&) = delete;
  RunQueueWait& operator=(const RunQueueWait&) = delete;

  // Returns the sum of all waits that have ended, over all live threads, each counted since its
  // start, as the scheduler counts them (second field of /proc/PID/task/TID/schedstat; see
  // sched-stats.rst in the Linux documentation); 0 if the kernel does not provide it. Can decrease,
  // when a thread ends. Takes about a microsecond per thread.
  int64_t TotalNs();

  // Whether the clocks of threads advance finely enough for IsAnyWaiting(), which else returns
  // false. On some systems they only advance by ticks.
  static bool CanSeeWaits();

  // Whether a thread other than the calling one is waiting at this moment. TotalNs() does not have
  // that wait yet: a thread may wait all the while that the others compute, and then the scheduler
  // has counted nothing. Takes about a microsecond per thread, and a few more for each that is
  // idle.
  bool IsAnyWaiting();

 private:
  struct Thread {
    pid_t id;
    int schedstat;  // Open file, or -1.
    int stat;       // Open file, or -1.
    clockid_t cpu_clock;
  };

  void FindNewThreads();
  void FindThreads();
  void Close();

  uint64_t known_threads_ = 0;  // Link count of the task directory when threads_ were found.
  std::vector<Thread> threads_;
};

}  // namespace quotient::os
