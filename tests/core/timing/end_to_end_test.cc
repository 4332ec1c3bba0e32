#include "core/timing/end_to_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_DOUBLE_EQ(result.ratios[0].median, 1);
  EXPECT_DOUBLE_EQ(result.ratios[1].median, 0.5);
  EXPECT_EQ(result.ratios[1].pairs, 4);
  EXPECT_TRUE(result.ratios[1].significant());
  EXPECT_FALSE(result.ratios[0].significant());
}

TEST_F(EndToEndTest, ShortRunsAreRepeatedAndWarmedUp) {
  const auto a = Make('a', [](int) { return 500; });
  ASSERT_OK(Measure({a.get()}));
  EXPECT_EQ(log_.size(), 2u + 4 * (1 + 4));  // 2 ms per sample
}

TEST_F(EndToEndTest, SlowMachineSlowsBothSidesOfARatio) {
  // Everything takes twice as long in turns 1 and 2; b is 10 % faster all the time.
  options_.warm_below_us = 0;
  const auto slow = [](int run) { return run == 3 || run == 4 ? 2.0 : 1.0; };
  const auto a = Make('a', [&](int run) { return 10'000 * slow(run); });
  const auto b = Make('b', [&](int run) { return 9'000 * slow(run); });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_NEAR(result.ratios[1].median, 0.9, 1e-9);
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
      return 50'000;
    }
    return 10'000;
  });
  ASSERT_OK_AND_ASSIGN(const EndToEndResult result, Measure({a.get(), b.get()}));
  EXPECT_EQ(result.ratios[1].pairs, 4);
  EXPECT_DOUBLE_EQ(result.ratios[1].median, 1);
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
  EXPECT_EQ(result.ratios[1].pairs, 4);
  EXPECT_DOUBLE_EQ(result.ratios[1].median, 2);
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
  EXPECT_NEAR(result.ratios[1].median, 2, 1e-9);
  EXPECT_NEAR(result.ratios[1].interval.high, 2, 1e-9);
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
