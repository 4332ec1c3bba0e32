#include "core/os/probe.h"

#include <gtest/gtest.h>

#include <optional>

namespace quotient::os {
namespace {

class FakeProbe : public Probe {
 public:
  int64_t NowNs() override { return now_ns; }
  int64_t InvoluntarySwitches() override { return switches; }
  int64_t WaitedNs() override { return waited_ns; }
  bool IsAnyWaiting() override { return is_any_waiting; }
  std::optional<int64_t> CpuNs() override { return cpu_ns; }

  int64_t now_ns = 5;
  int64_t switches = 7;
  int64_t waited_ns = 11;
  bool is_any_waiting = false;
  std::optional<int64_t> cpu_ns = 13;
};

class StopwatchTest : public ::testing::Test {
 protected:
  // A sample of so many milliseconds, in which one thread used the core for `used_ms`.
  Stopwatch::Reading OneThread(int64_t ms, int64_t used_ms, int switches) {
    const Stopwatch stopwatch(probe_);
    probe_.now_ns += ms * 1'000'000;
    *probe_.cpu_ns += used_ms * 1'000'000;
    probe_.switches += switches;
    return stopwatch.Stop();
  }
  // The same of several threads, which waited for cores for `waited_ms` together.
  Stopwatch::Reading Several(int64_t ms, int64_t waited_ms, int switches) {
    probe_.cpu_ns = std::nullopt;
    const Stopwatch stopwatch(probe_);
    probe_.now_ns += ms * 1'000'000;
    probe_.waited_ns += waited_ms * 1'000'000;
    probe_.switches += switches;
    return stopwatch.Stop();
  }

  FakeProbe probe_;
};

TEST_F(StopwatchTest, ALongSampleIsCleanIfPreemptionsTookLittleOfIt) {
  const Stopwatch::Reading reading = OneThread(1000, 995, 3);
  EXPECT_TRUE(reading.clean);
  EXPECT_DOUBLE_EQ(reading.us, 1'000'000) << "the time by the clock";
}

TEST_F(StopwatchTest, ASampleThatLostItsCoreCountsByItsCpuTime) {
  const Stopwatch::Reading reading = OneThread(1000, 970, 1);
  EXPECT_FALSE(reading.clean);
  EXPECT_DOUBLE_EQ(reading.us, 970'000);
}

TEST_F(StopwatchTest, AThreadThatWasNotPreemptedIsClean) {
  EXPECT_TRUE(OneThread(1000, 900, 0).clean) << "clocks of threads are coarse on some systems";
}

TEST_F(StopwatchTest, SeveralThreadsAreJudgedByHowLongTheyWaited) {
  EXPECT_TRUE(Several(1000, 9, 2).clean);
  EXPECT_FALSE(Several(1000, 30, 2).clean);
  EXPECT_TRUE(Several(1000, 30, 0).clean) << "nobody was preempted: threads were woken";
  EXPECT_FALSE(Several(1000, 60, 0).clean);
}

TEST_F(StopwatchTest, ASampleAtWhoseEndAThreadWaitsIsNotClean) {
  probe_.is_any_waiting = true;
  EXPECT_FALSE(Several(1000, 0, 0).clean);
}

TEST_F(StopwatchTest, AThreadThatEndedLeavesNoWait) { EXPECT_FALSE(Several(1000, -1, 0).clean); }

}  // namespace
}  // namespace quotient::os
