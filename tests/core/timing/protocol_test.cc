#include "core/timing/protocol.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/core/timing/scripted.h"

namespace quotient::timing {
namespace {

using kernels::fake::FakeClock;

class ProtocolTest : public ::testing::Test {
 protected:
  Timing TimeOne(ScriptedKernel& kernel) {
    kernels::CompiledKernel* const kernels[] = {&kernel};
    return TimeBatch(kernels, protocol_, probe_, must_end_)[0];
  }

  FakeClock clock_;
  ScriptedProbe probe_{&clock_};
  Protocol protocol_;
  std::function<bool()> must_end_ = [] { return false; };
};

TEST_F(ProtocolTest, SteadyKernelIsDoneAfterTheFewestRounds) {
  ScriptedKernel kernel(&clock_, [](int) { return 100; });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_DOUBLE_EQ(timing.min_us, 100);
  EXPECT_EQ(timing.relative_spread, 0);
  EXPECT_EQ(timing.samples, 7);
  EXPECT_EQ(kernel.runs(), 3 + 7 * 3);  // warm runs; 300 us per sample
}

TEST_F(ProtocolTest, ShortKernelsAreRepeatedWithinASample) {
  ScriptedKernel kernel(&clock_, [](int) { return 0.5; });
  const Timing timing = TimeOne(kernel);
  EXPECT_DOUBLE_EQ(timing.min_us, 0.5);
  EXPECT_EQ(kernel.runs(), 3 + 7 * 600);
}

TEST_F(ProtocolTest, FirstRunsDoNotCount) {
  ScriptedKernel kernel(&clock_, [](int run) { return run < 3 ? 50 : 400; });
  EXPECT_DOUBLE_EQ(TimeOne(kernel).min_us, 400);
}

TEST_F(ProtocolTest, GoesOnWhileTheMinimumImproves) {
  // 400 us per run: one run per sample. Improves by 2 % in each of ten rounds.
  ScriptedKernel kernel(&clock_, [](int run) {
    const int round = run - 3;
    return round < 0 ? 400 : 400 * (1 - 0.02 * std::min(round, 10));
  });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_EQ(timing.samples, 11 + 5);
  EXPECT_NEAR(timing.min_us, 320, 1e-6);
}

TEST_F(ProtocolTest, ContaminatedSamplesDoNotCount) {
  // Every other sample is interrupted, and looks faster than the truth.
  ScriptedKernel kernel(&clock_, [this](int run) {
    const bool interrupted = run >= 3 && run % 2 == 0;
    if (interrupted) probe_.Interrupt();
    return interrupted ? 310 : 400;
  });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_DOUBLE_EQ(timing.min_us, 400);
  EXPECT_EQ(timing.samples, 5);
}

TEST_F(ProtocolTest, KernelThatIsAlwaysInterruptedIsNoisy) {
  ScriptedKernel kernel(&clock_, [this](int run) {
    probe_.Interrupt();
    return 400.0 + run % 7;
  });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kNoisy);
  EXPECT_EQ(timing.samples, 0);
  EXPECT_DOUBLE_EQ(timing.min_us, 400);  // of the contaminated samples
  EXPECT_TRUE(timing.has_time());
  EXPECT_EQ(kernel.runs(), 2 * (3 + 25)) << "it had its chances";
}

TEST_F(ProtocolTest, KernelThatIsRarelyLeftAloneIsSampledForLonger) {
  // All threads have a core in one of twenty runs.
  ScriptedKernel kernel(&clock_, [this](int run) {
    const bool is_alone = run % 20 == 10;
    if (!is_alone) probe_.Interrupt();
    return is_alone ? 350 : 550;
  });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_DOUBLE_EQ(timing.min_us, 350);
  EXPECT_EQ(timing.samples, protocol_.min_clean_samples);
}

TEST_F(ProtocolTest, TheLastSampleThatWasMissingMayBeTheFastest) {
  ScriptedKernel kernel(&clock_, [this](int run) {
    const bool is_alone = run % 20 == 10;
    if (!is_alone) probe_.Interrupt();
    return is_alone ? (run < 80 ? 400 : 350) : 550;
  });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_DOUBLE_EQ(timing.min_us, 350);
}

TEST_F(ProtocolTest, WhatASampleOfADisturbedThreadTakesCountsByTheClock) {
  probe_.HaveCpuTime();
  // Nine tenths of the time another process has the core; at times this one has it.
  ScriptedKernel kernel(&clock_, [this](int run) {
    if (run % 20 != 10) probe_.Interrupt(&clock_, 3600);
    return 400;
  });
  protocol_.max_retries = 0;
  TimeOne(kernel);
  EXPECT_LE(clock_.NowNs() * 1e-3, 3 * 4000 + 25 * 4000 + protocol_.budget_us);
}

TEST_F(ProtocolTest, KernelDisturbedForAWhileIsTimedWhenThatIsOver) {
  // At first a thread waits for its core in every run, which no switch shows.
  ScriptedKernel kernel(&clock_, [this](int run) {
    if (run < 40) probe_.Wait(&clock_, 900);
    return 100;
  });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_NEAR(timing.min_us, 100, 1e-6);
}

TEST_F(ProtocolTest, CpuTimeStandsInWhereNoSampleIsClean) {
  probe_.HaveCpuTime();
  ScriptedKernel kernel(&clock_, [this](int) {
    probe_.Interrupt(&clock_, 3000);
    return 400;
  });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kNoisy);
  EXPECT_NEAR(timing.min_us, 400, 1e-6);
}

TEST_F(ProtocolTest, SlowKernelGetsFewRounds) {
  ScriptedKernel kernel(&clock_, [](int) { return 40'000; });
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_EQ(timing.samples, 3);
  EXPECT_EQ(kernel.runs(), 1 + 3);  // one warm run is enough
  EXPECT_EQ(clock_.NowNs(), 160'000'000);
}

TEST_F(ProtocolTest, FailureOfOneKernelLeavesTheOthersAlone) {
  ScriptedKernel good(&clock_, [](int) { return 400; });
  ScriptedKernel bad(&clock_, [](int run) { return run < 5 ? 400 : -1; });
  kernels::CompiledKernel* const kernels[] = {&bad, &good};
  const std::vector<Timing> timings = TimeBatch(kernels, protocol_, probe_, must_end_);
  EXPECT_EQ(timings[0].state, TimingState::kFailed);
  EXPECT_FALSE(timings[0].has_time());
  EXPECT_EQ(timings[1].state, TimingState::kOk);
}

TEST_F(ProtocolTest, OperandsThatDoNotStayInTheCacheAreWrittenBeforeEachRun) {
  std::string order;
  ScriptedKernel kernel(&clock_, [&order](int) {
    order.push_back('r');
    return 100;  // Three runs would make a sample.
  });
  kernel.BeforeRuns([&] {
    order.push_back('w');
    clock_.Advance(1000);  // Writing is not part of what is timed.
  });
  EXPECT_NEAR(TimeOne(kernel).min_us, 100, 1e-9);
  EXPECT_EQ(order, "wrwrwrwrwrwrwrwrwrwr");  // Three warm runs, and one for each of 7 rounds.
}

TEST_F(ProtocolTest, TheClockOfADeviceCountsWhereItHasOne) {
  ScriptedKernel kernel(&clock_, [](int) { return 100; });
  kernel.SetReading({.us = 30});  // whatever is run
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_NEAR(timing.min_us, 3, 1e-9);  // ten runs of 30 us make a sample
}

TEST_F(ProtocolTest, SamplesOfAThrottledDeviceDoNotCount) {
  ScriptedKernel kernel(&clock_, [](int) { return 100; });
  kernel.SetReading({.us = 300, .clean = false});
  EXPECT_EQ(TimeOne(kernel).state, TimingState::kNoisy);
}

TEST_F(ProtocolTest, BatchIsInterleaved) {
  std::string order;
  const auto noting = [&](char name) {
    return [&order, name](int run) {
      if (run >= 3) order.push_back(name);
      return 400;
    };
  };
  ScriptedKernel a(&clock_, noting('a')), b(&clock_, noting('b'));
  kernels::CompiledKernel* const kernels[] = {&a, &b};
  TimeBatch(kernels, protocol_, probe_, must_end_);
  EXPECT_EQ(order, "ababababababab");
}

// A device may report next to nothing of a long run, for instance if noise was subtracted from it.
TEST_F(ProtocolTest, ASampleIsBoundedByTheHostsClockToo) {
  ScriptedKernel kernel(&clock_, [](int) { return 30'000; });
  kernel.SetReading({.us = 0, .clean = true});
  protocol_.max_retries = 0;
  TimeOne(kernel);
  EXPECT_LE(kernel.runs(), 2 + protocol_.max_rounds);  // Two warm runs; one run per sample.
}

// It is started by another process, say, and waits for that.
TEST_F(ProtocolTest, AllSamplesTogetherAreBoundedByTheHostsClockToo) {
  ScriptedKernel kernel(&clock_, [](int) { return 15'000; });
  kernel.SetReading({.us = 400});
  const Timing timing = TimeOne(kernel);
  EXPECT_EQ(timing.state, TimingState::kOk);
  EXPECT_NEAR(timing.min_us, 400, 1e-9);
  EXPECT_EQ(timing.samples, 4);  // 60 ms
}

TEST_F(ProtocolTest, EndsBetweenSamples) {
  bool ends = false;
  must_end_ = [&] { return ends; };
  ScriptedKernel a(&clock_, [&](int run) {
    ends |= run == 4;
    return 400;
  });
  ScriptedKernel b(&clock_, [](int) { return 500; });
  kernels::CompiledKernel* const kernels[] = {&a, &b};
  const std::vector<Timing> timings = TimeBatch(kernels, protocol_, probe_, must_end_);
  EXPECT_EQ(a.runs(), 3 + 2);
  EXPECT_EQ(b.runs(), 3 + 1);
  EXPECT_EQ(timings[0].state, TimingState::kNoisy);
  EXPECT_EQ(timings[1].min_us, 500);
}

}  // namespace
}  // namespace quotient::timing
