#include "server/runner/figures.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace quotient::runner {
namespace {

v1::Figures FiguresOf(const report::Report& report) {
  v1::Figures figures;
  AddReport(report, &figures);
  return figures;
}

TEST(FiguresTest, TheGainIsMeasuredOrElsePredicted) {
  report::Report report{.outcome = report::Outcome::kImproved};
  report.search.simulations = 7;
  EXPECT_FALSE(FiguresOf(report).has_gain_ratio());
  EXPECT_EQ(FiguresOf(report).simulations(), 7);
  report.predicted_speedup_percent = 25;
  EXPECT_DOUBLE_EQ(FiguresOf(report).gain_ratio(), 0.75);
  report.original.measured.runs = report.optimized.measured.runs = 9;
  report.speedup_percent = 50;
  EXPECT_DOUBLE_EQ(FiguresOf(report).gain_ratio(), 0.5);
  report.outcome = report::Outcome::kNoImprovement;
  EXPECT_DOUBLE_EQ(FiguresOf(report).gain_ratio(), 1);
}

TEST(FiguresTest, AModelThatPassedThroughHasNone) {
  EXPECT_FALSE(FiguresOf({.passed_through = "MODEL_UNSUPPORTED"}).has_gain_ratio());
}

TEST(CountedTimingsTest, EachKernelCountsOnce) {
  auto store = timing::NewMemoryStore();
  ASSERT_OK(store->Add("known", "device", {.state = timing::TimingState::kOk}));
  ASSERT_OK(store->Add("noisy", "device", {.state = timing::TimingState::kNoisy}));
  const auto timings = NewCountedTimings(std::move(store));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(timings->Find("known", "device").has_value());
    EXPECT_TRUE(timings->Find("noisy", "device").has_value());
    EXPECT_FALSE(timings->Find("new", "device").has_value());
  }
  ASSERT_OK(timings->Add("new", "device", {.state = timing::TimingState::kOk}));
  ASSERT_OK(timings->Add("noisy", "device", {.state = timing::TimingState::kNoisy}));
  ASSERT_OK(timings->Add("odd", "device", {.state = timing::TimingState::kUnsupported}));
  EXPECT_TRUE(timings->Find("new", "device").has_value());
  const TimingCounts counts = timings->counts();
  EXPECT_EQ(counts.known, 1);
  EXPECT_EQ(counts.measured, 1);
  EXPECT_EQ(counts.noisy, 1);
  EXPECT_EQ(counts.unsupported, 1);
}

}  // namespace
}  // namespace quotient::runner
