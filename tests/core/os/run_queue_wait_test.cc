#include "core/os/run_queue_wait.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/clock.h"

namespace quotient::os {
namespace {

void PinToCore(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ASSERT_EQ(sched_setaffinity(0, sizeof(cores), &cores), 0);
}

TEST(RunQueueWaitTest, GrowsWhileTwoThreadsWantOneCore) {
  RunQueueWait wait;
  if (access("/proc/self/schedstat", R_OK) != 0) {  // a kernel without the statistics
    EXPECT_EQ(wait.TotalNs(), 0);
    return;
  }
  const int core = sched_getcpu();
  std::atomic<bool> end{false};
  const int64_t before = wait.TotalNs();
  int64_t after = before;
  {
    std::jthread busy([&] {
      PinToCore(core);
      while (!end.load()) {
      }
    });
    std::jthread also_busy([&] {
      PinToCore(core);
      // Until it has been seen; whoever waits for ever has found a broken meter.
      while ((after = wait.TotalNs()) < before + 1'000'000) {
      }
      end.store(true);
    });
  }
  EXPECT_GE(after, before + 1'000'000);
}

// One of two threads that want one core has it, so the other waits, whichever that is. A third one
// looks, on whatever core.
TEST(RunQueueWaitTest, SeesAThreadThatWaits) {
  RunQueueWait wait;
  if (!RunQueueWait::CanSeeWaits()) {
    EXPECT_FALSE(wait.IsAnyWaiting());
    return;
  }
  const int core = sched_getcpu();
  std::atomic<bool> end{false};
  const auto compute = [&] {
    PinToCore(core);
    while (!end.load()) {
    }
  };
  std::jthread busy(compute);
  std::jthread also_busy(compute);
  // Whoever looks for ever has found a broken meter.
  while (!wait.IsAnyWaiting()) {
  }
  end.store(true);
}

TEST(RunQueueWaitTest, AThreadThatSleepsDoesNotWait) {
  RunQueueWait wait;
  std::mutex mutex;
  std::condition_variable woken;
  bool end = false;
  std::jthread sleeper([&] {
    std::unique_lock lock(mutex);
    woken.wait(lock, [&] { return end; });
  });
  while (wait.IsAnyWaiting()) {  // It may take a while until it sleeps.
  }
  {
    const std::lock_guard lock(mutex);
    end = true;
  }
  woken.notify_one();
}

}  // namespace
}  // namespace quotient::os
