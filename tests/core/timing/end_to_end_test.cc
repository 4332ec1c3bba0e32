#include "core/timing/end_to_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "tests/core/timing/scripted.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using kernels::fake::FakeClock;
using quotient::testing::HasReason;

class EndToEndTest : public ::testing::Test {
 protected:
  std::unique_ptr<ScriptedExecutable> Make(char name, std::function<double(int)> script) {
    return std::make_unique<ScriptedExecutable>(name, &log_, &clock_, std::move(script));
  }

  absl::StatusOr<EndToEndResult> Measure(std::vector<kernels::Executable*> executables) {
    return MeasureEndToEnd(executables, options_, probe_, stop_);
  }

  FakeClock clock_;
  ScriptedProbe probe_{&clock_};
  std::string log_;
  EndToEndOptions options_{.max_turns = 4};
  StopCondition stop_;
};

TEST_F(EndToEndTest, RunsForwardsAndBackwards) {
  options_.warm_below_us = 0;
  const auto a = Make('a', [](int) { return 60'000; }), b = Make('b', [](int) { return 30'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_EQ(log_, "aabbabbaabba");  // two first runs each, then ABBA
  EXPECT_DOUBLE_EQ(result.runs[0].median_us, 60'000);
  EXPECT_DOUBLE_EQ(result.runs[1].median_us, 30'000);
  EXPECT_DOUBLE_EQ(result.ratios[0].value, 1);
  EXPECT_DOUBLE_EQ(result.ratios[1].value, 0.5);
  EXPECT_EQ(result.ratios[1].pairs, 4);
  EXPECT_TRUE(result.ratios[1].surely_faster());
  EXPECT_FALSE(result.ratios[0].surely_faster());
}

TEST_F(EndToEndTest, ShortRunsAreRepeatedAndWarmedUp) {
  const auto a = Make('a', [](int) { return 500; });
  ASSERT_OK(Measure({a.get()}));
  EXPECT_EQ(log_.size(), 2u + 4 * (1 + 3 * 4));  // 2 ms per sample
}

TEST_F(EndToEndTest, SlowMachineSlowsBothSidesOfARatio) {
  // Everything takes twice as long in turns 1 and 2; b is 10 % faster all the time.
  options_.warm_below_us = 0;
  const auto slow = [](int run) { return run == 3 || run == 4 ? 2.0 : 1.0; };
  const auto a = Make('a', [&](int run) { return 10'000 * slow(run); });
  const auto b = Make('b', [&](int run) { return 9'000 * slow(run); });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_NEAR(result.ratios[1].value, 0.9, 1e-9);
  EXPECT_NEAR(result.ratios[1].interval.high, 0.9, 1e-9);
  EXPECT_GT(result.runs[0].p90_us, 15'000);
}

TEST_F(EndToEndTest, InterruptedPairsAreDropped) {
  options_.warm_below_us = 0;
  options_.max_turns = 8;
  const auto a = Make('a', [](int) { return 10'000; });
  const auto b = Make('b', [this](int run) {
    if (run % 2 == 1) {
      probe_.Interrupt();
      return 40'000;
    }
    return 10'000;
  });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_EQ(result.ratios[1].pairs, 4);
  EXPECT_DOUBLE_EQ(result.ratios[1].value, 1);
  EXPECT_FALSE(result.contaminated);
}

TEST_F(EndToEndTest, WithoutCleanPairsAllAreTakenAndItSaysSo) {
  const auto a = Make('a', [this](int) {
    probe_.Interrupt();
    return 10'000;
  });
  const auto b = Make('b', [](int) { return 20'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_TRUE(result.contaminated);
  EXPECT_EQ(result.ratios[1].pairs, 4) << "each visit counts once";
  EXPECT_DOUBLE_EQ(result.ratios[1].value, 2);
}

// As two threads are on two cores that are kept busy: a thread that finds no core leaves its work
// to the other one.
TEST_F(EndToEndTest, OnABusyMachineVisitsAreCompared) {
  for (int seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    options_ = {.max_turns = 128, .samples_per_visit = 1};
    Rng rng(seed);
    const auto by_chance = [&](double us) {
      probe_.Interrupt();
      const double noise = rng.Uniform(1, 1.02);
      return us * noise * (rng.Uniform(0, 1) < 0.25 ? 0.6 : 1);
    };
    const auto a = Make('a', [&](int) { return by_chance(10'000); });
    const auto b = Make('b', [&](int) { return by_chance(9'500); });
    ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
    EXPECT_TRUE(result.contaminated);
    EXPECT_NEAR(result.ratios[1].value, 0.95, 0.02);
    EXPECT_LT(result.ratios[1].interval.high, 1);
  }
}

TEST_F(EndToEndTest, AFewSamplesTellWhetherRunsAreDisturbed) {
  struct Case {
    int ms;                         // That each run takes.
    std::vector<bool> interrupted;  // By run.
    bool disturbed;
    int runs;
  };
  for (const Case& each :
       {Case{30, {true, true, true}, true, 3}, Case{30, {true, false, true, true}, true, 4},
        Case{30, {false, true, false, false}, false, 4}, Case{10, {false, false}, false, 2},
        // A moment in which something else ran.
        Case{10, {true, true, false, false, false}, false, 5},
        Case{10, {true, true, false, false, true, false, true}, true, 5},
        Case{10, {true, true, false, false, false, true, false}, false, 5},
        Case{20, {true, true, false, false, true}, true, 5}}) {
    log_.clear();
    const auto a = Make('a', [&](int run) {
      if (each.interrupted[run]) probe_.Interrupt();
      return 1'000 * each.ms + run;
    });
    ASSERT_OK_AND_ASSIGN(const Disturbance found, LookForDisturbance(*a, options_, probe_));
    EXPECT_EQ(found.disturbed, each.disturbed);
    EXPECT_EQ(std::ssize(log_), each.runs);
    EXPECT_GE(found.runs.min_us, 1'000 * each.ms);
  }
}

TEST_F(EndToEndTest, ShortRunsAreRepeatedToSeeWhetherTheyAreDisturbed) {
  const auto a = Make('a', [](int) { return 100; });
  ASSERT_OK_AND_ASSIGN(const Disturbance found, LookForDisturbance(*a, options_, probe_));
  EXPECT_FALSE(found.disturbed);
  EXPECT_EQ(log_.size(), 1u + 2 * 20);
  EXPECT_DOUBLE_EQ(found.runs.median_us, 100);
}

TEST_F(EndToEndTest, TheFastestSampleOfADisturbedVisitCounts) {
  const auto a = Make('a', [this](int run) {
    probe_.Interrupt();
    return run % 4 == 0 ? 10'000 : 40'000 + 1'000 * (run % 7);
  });
  const auto b = Make('b', [](int) { return 20'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_TRUE(result.contaminated);
  EXPECT_DOUBLE_EQ(result.runs[0].median_us, 10'000);
  EXPECT_DOUBLE_EQ(result.ratios[1].value, 2);
}

TEST_F(EndToEndTest, CpuTimeStandsInForInterruptedRuns) {
  probe_.HaveCpuTime();
  const auto a = Make('a', [this](int run) {
    probe_.Interrupt(&clock_, 5'000 * (run % 3));
    return 10'000;
  });
  const auto b = Make('b', [](int) { return 20'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_TRUE(result.contaminated);
  EXPECT_NEAR(result.ratios[1].value, 2, 1e-9);
  EXPECT_NEAR(result.ratios[1].interval.high, 2, 1e-9);
}

TEST_F(EndToEndTest, WhoHasABetterUseForTheTimeStopsOnABusyMachine) {
  options_ = {.max_turns = 64, .samples_per_visit = 1, .stops_if_contaminated = true};
  bool busy = true;
  const auto a = Make('a', [&](int) {
    if (busy) probe_.Interrupt();
    return 10'000;
  });
  const auto b = Make('b', [](int) { return 9'900; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult disturbed, Measure({a.get(), b.get()}));
  EXPECT_TRUE(disturbed.contaminated);
  EXPECT_EQ(disturbed.ratios[1].pairs, options_.min_turns);
  busy = false;
  ASSERT_OK_AND_ASSIGN(const EndToEndResult quiet, Measure({a.get(), b.get()}));
  EXPECT_FALSE(quiet.contaminated);
  EXPECT_GT(quiet.ratios[1].pairs, options_.min_turns);
}

TEST_F(EndToEndTest, StaysWithinItsBudgetButTakesTheFewestTurns) {
  options_ = {.budget_seconds = 1, .min_turns = 3, .max_turns = 100};
  const auto quick = Make('q', [](int) { return 10'000; });
  ASSERT_OK(Measure({quick.get()}));
  EXPECT_LT(clock_.NowNs(), 1'100'000'000);
  const int64_t start = clock_.NowNs();
  const auto slow = Make('s', [](int) { return 900'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({slow.get()}));
  EXPECT_EQ(result.runs[0].samples, 3);
  EXPECT_EQ(clock_.NowNs() - start, 4 * 900'000'000LL);  // one first run is enough
}

TEST_F(EndToEndTest, HalfOfThoseThatAreFasterRaceOnUntilOneIsLeft) {
  options_ = {.max_turns = 100, .warm_below_us = 0};
  const auto a = Make('a', [](int) { return 10'000; }), b = Make('b', [](int) { return 7'000; });
  const auto c = Make('c', [](int) { return 5'000; }), d = Make('d', [](int) { return 6'000; });
  const auto slower = Make('s', [](int) { return 20'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result,
                       Measure({a.get(), b.get(), c.get(), d.get(), slower.get()}));
  EXPECT_EQ(result.ratios[1].pairs, 16);  // left as the slower one of three
  EXPECT_EQ(result.ratios[2].pairs, 32);
  EXPECT_EQ(result.ratios[3].pairs, 32);
  EXPECT_EQ(result.ratios[4].pairs, 16);  // left as surely slower
  EXPECT_TRUE(result.ratios[2].surely_faster());
  EXPECT_FALSE(result.ratios[4].surely_faster());
  EXPECT_EQ(result.runs[1].samples, 16);
}

TEST_F(EndToEndTest, EqualOnesAreNotRunForLong) {
  options_ = {.max_turns = 100, .warm_below_us = 0};
  const auto a = Make('a', [](int) { return 10'000; }), b = Make('b', [](int) { return 10'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_EQ(result.ratios[1].pairs, options_.first_evaluation);
}

// The time of a run differs by up to 2 %, and by `faster` from 300 ms.
std::function<double(int)> Noisy(double faster, int seed) {
  return [faster, rng = Rng(seed)](int) mutable {
    return 300'000 * (1 - faster) * (1 + rng.Uniform(-0.02, 0.02));
  };
}

TEST_F(EndToEndTest, StopsWhenTheRestOfTheTimeCannotTell) {
  options_ = {.budget_seconds = 30};
  const auto a = Make('a', Noisy(0, 1)), b = Make('b', Noisy(0, 2));
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_FALSE(result.ratios[1].surely_faster());
  EXPECT_LT(clock_.NowNs(), 15'000'000'000);
}

// Three turns say that the other one is slower, and leave no doubt.
TEST_F(EndToEndTest, NoneIsDroppedAfterLessThanSixTurns) {
  options_ = {.budget_seconds = 5, .min_turns = 3};
  const auto a = Make('a', [](int) { return 100'000; }), b = Make('b', [](int) { return 102'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_EQ(result.ratios[1].pairs, 6);
}

// After six turns, half of which are contaminated, three pairs say that the other one is slower.
TEST_F(EndToEndTest, NoneIsDroppedByLessThanSixPairsThatCount) {
  options_ = {.budget_seconds = 5, .min_turns = 3};
  const auto a = Make('a', [this](int run) {
    if (run % 2 == 1) probe_.Interrupt(&clock_, 50'000);
    return 100'000;
  });
  const auto b = Make('b', [](int) { return 102'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_FALSE(result.contaminated);
  EXPECT_EQ(result.ratios[1].pairs, 6);
  EXPECT_EQ(log_.size(), 2 * (2u + 11)) << "two first runs each, then 11 turns";
}

// The first pair is one of a gain, so the evaluation alone does not drop the candidate.
TEST_F(EndToEndTest, NoneIsDroppedByLessThanSixPairsAtAnEarlyEvaluation) {
  options_ = {.first_evaluation = 4};
  const auto a = Make('a', [](int) { return 100'000; });
  const auto b = Make('b', [](int run) { return run <= 2 ? 99'000 : 103'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_EQ(result.ratios[1].pairs, 8) << "dropped at the second evaluation";
}

TEST_F(EndToEndTest, GoesOnWhileTheRestOfTheTimeCanTell) {
  for (int seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    options_ = {.budget_seconds = 30};
    const auto a = Make('a', Noisy(0, 2 * seed)), b = Make('b', Noisy(0.03, 2 * seed + 1));
    ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
    EXPECT_TRUE(result.ratios[1].surely_faster());
  }
}

// By whichever part of its times one of two equally fast graphs is the faster one.
TEST_F(EndToEndTest, TimesThatAreSpreadWiderAreNoGain) {
  options_ = {.max_turns = 100, .warm_below_us = 0};
  const auto a = Make('a', [](int) { return 10'000; });
  const auto b = Make('b', [](int run) { return run % 2 == 0 ? 9'000 : 11'000; });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_FALSE(result.ratios[1].surely_faster());
  EXPECT_FALSE(result.ratios[1].surely_slower());
}

// The machine is slower for a third of the time, for several turns in a row.
TEST_F(EndToEndTest, MomentsInWhichTheMachineIsSlowHideNoGain) {
  for (int seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    options_ = {.max_turns = 48, .warm_below_us = 0};
    Rng rng(seed);
    const auto by_chance = [&](double us) {
      const bool is_slow = clock_.NowNs() / 50'000'000 % 3 == 0;
      return us * (is_slow ? 1.4 : 1) * rng.Uniform(1, 1.04);
    };
    const auto a = Make('a', [&](int) { return by_chance(10'000); });
    const auto b = Make('b', [&](int) { return by_chance(9'700); });
    ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
    EXPECT_TRUE(result.ratios[1].surely_faster());
    EXPECT_NEAR(result.ratios[1].value, 0.97, 0.015);
  }
}

TEST_F(EndToEndTest, CancelIsAnErrorAndSoIsAFailedRun) {
  const auto bad = Make('x', [](int run) { return run == 3 ? -1 : 1'000; });
  EXPECT_FALSE(Measure({bad.get()}).ok());
  CancelToken token;
  token.Cancel();
  stop_ = StopCondition(&token);
  const auto a = Make('a', [](int) { return 1'000; });
  EXPECT_THAT(Measure({a.get()}), HasReason(Reason::kCancelled));
}

}  // namespace
}  // namespace quotient::timing
