#include "core/optimize/contest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/optimize/contest_fixture.h"

namespace quotient::optimize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ContestTest, ACandidateThatCannotRunLeavesTheOthers) {
  us_["Neg"] = 10;
  AddCandidate("y: float32[4096] = Tanh(x)");
  AddCandidate("y: float32[4096] = Abs(x)");
  AddCandidate("y: float32[4096] = Neg(x)");
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("Tanh")));
  EXPECT_DOUBLE_EQ(contest->original.median_us, 100);
  ASSERT_EQ(contest->contenders.size(), 2u);
  EXPECT_EQ(OpOf(contest->contenders[1].candidate), "Neg");
  EXPECT_DOUBLE_EQ(contest->contenders[1].runs.median_us, 10);
  EXPECT_NEAR(contest->contenders[1].ratio.interval.high, 0.1, 1e-9);
}

// As with all of them at once, and each is compared with the original.
TEST_F(ContestTest, CandidatesMayRunAFewAtATime) {
  us_ = {{"Neg", 10}, {"Abs", 90}, {"Relu", 200}};
  for (const size_t graphs : {1, 2, 3, 100}) {
    options_.graphs_at_once = graphs;
    candidates_.clear();
    AddCandidate("y: float32[4096] = Abs(x)", 90);
    AddCandidate("y: float32[4096] = Neg(x)", 10);
    AddCandidate("y: float32[4096] = Relu(x)", 200);
    const absl::StatusOr<Contest> contest = Run();
    ASSERT_TRUE(contest.ok()) << contest.status();
    EXPECT_DOUBLE_EQ(contest->original.median_us, 100);
    ASSERT_EQ(contest->contenders.size(), 3u);
    for (const Contender& contender : contest->contenders) {
      const double us = us_.at(OpOf(contender.candidate));
      EXPECT_NEAR(contender.ratio.value, us / 100, 1e-9) << graphs;
      EXPECT_EQ(contender.ratio.surely_slower(), us > 100) << graphs;
    }
  }
}

TEST_F(ContestTest, WithoutCandidatesTheOriginalIsMeasuredAlone) {
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_TRUE(contest->contenders.empty());
  EXPECT_GT(contest->original.samples, 0);
}

TEST_F(ContestTest, AnOriginalThatCannotRunIsAnError) {
  original_ = PreparedFrom("y: float32[4096] = Tanh(x)");
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kUnimplemented);
}

// As if its buffers lay better in memory the first time.
TEST_F(ContestTest, ASurprisingGainIsMeasuredAgain) {
  for (const double us_of_second : {100.0, 94.0}) {
    SCOPED_TRACE(us_of_second);
    CompileNegTwice(94, us_of_second);
    AddCandidate("y: float32[4096] = Neg(x)", 100);
    const absl::StatusOr<Contest> contest = Run();
    ASSERT_TRUE(contest.ok()) << contest.status();
    EXPECT_EQ(compiled_, 2);
    ASSERT_EQ(contest->contenders.size(), 1u);
    EXPECT_NEAR(contest->contenders[0].ratio.interval.low, 0.94, 1e-9);
    EXPECT_NEAR(contest->contenders[0].ratio.interval.high, us_of_second / 100, 1e-9);
    candidates_.clear();
  }
}

// Though it was predicted.
TEST_F(ContestTest, AGainThatPlacementMayMakeIsMeasuredAgain) {
  CompileNegTwice(98.5, 100.5);
  AddCandidate("y: float32[4096] = Neg(x)", 98.5);
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_EQ(compiled_, 2);
  ASSERT_EQ(contest->contenders.size(), 1u);
  EXPECT_FALSE(contest->contenders[0].ratio.surely_faster());
}

TEST_F(ContestTest, ASecondLookThatIsDisturbedDoesNotCount) {
  CompileNegTwice(98.5, 100.5, [this] { return compiled_ > 1; });
  AddCandidate("y: float32[4096] = Neg(x)", 98.5);
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_EQ(compiled_, 2);
  EXPECT_FALSE(contest->contaminated);
  ASSERT_EQ(contest->contenders.size(), 1u);
  EXPECT_NEAR(contest->contenders[0].ratio.value, 0.985, 1e-9);
}

TEST_F(ContestTest, AGainThatWasPredictedIsMeasuredOnce) {
  CompileNegTwice(94, 94);
  AddCandidate("y: float32[4096] = Neg(x)", 94);
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_EQ(compiled_, 1);
  ASSERT_EQ(contest->contenders.size(), 1u);
  EXPECT_TRUE(contest->contenders[0].ratio.surely_faster());
}

// The device computes what its graph says; that another graph was promised is as if a kernel of its
// own were wrong.
TEST_F(ContestTest, WhoeverComputesSomethingElseLeaves) {
  const auto reference = verify::Reference::Create(original_.cut, 1, 1, 1, StopCondition(), {});
  ASSERT_TRUE(reference.ok());
  reference_ = &*reference;
  AddCandidate("y: float32[4096] = Neg(x)");
  AddCandidate(R"(a: float32[4096] = Erf(x)
                                                        b: float32[4096] = Erf(a)
                                                        c: float32[4096] = Erf(b)
                                                        y: float32[4096] = Identity(c))");
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("a kernel of this device is wrong: output y")));
}

// As where a tile is lost: no rounding of float32 is off by a thousandth of the norm, but products
// of operands that are rounded to TF32 may be, over a deep network; not by a fiftieth.
TEST_F(ContestTest, HowFarOffIsWrongDependsOnTheDevice) {
  original_ = PreparedFrom("y: float32[4096] = Neg(x)");
  const auto reference = verify::Reference::Create(original_.cut, 1, 1, 1, StopCondition(), {});
  ASSERT_TRUE(reference.ok());
  reference_ = &*reference;
  using Arithmetic = verify::DeviceArithmetic;
  for (const auto arithmetic : {Arithmetic::kHost, Arithmetic::kFloat32, Arithmetic::kTf32}) {
    for (const char* most : {"0.999", "0.98"}) {
      options_.arithmetic = arithmetic;
      candidates_.clear();
      failures_.clear();
      AddCandidate(absl::StrCat("const most: float32[] = [", most, R"(]
                                                          n: float32[4096] = Neg(x)
                                                          y: float32[4096] = Mul(n, most))"));
      ASSERT_TRUE(Run().ok());
      const bool is_wrong = arithmetic == Arithmetic::kFloat32 ||
                            (arithmetic == Arithmetic::kTf32 && most == std::string("0.98"));
      EXPECT_EQ(failures_.size(), is_wrong ? 1 : 0) << most;
    }
  }
}

// What a candidate would take with all threads would say nothing.
TEST_F(BusyContestTest, OnlyTheOriginalRunsWithAllThreads) {
  cpu_us_["Neg"] = 90;
  AddCandidate("y: float32[4096] = Neg(x)");
  AddCandidate("y: float32[4096] = Abs(x)");
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_TRUE(contest->contaminated);
  EXPECT_TRUE(contest->original_tells_no_time);
  EXPECT_THAT(ops_, ElementsAre("Erf"));
  EXPECT_GT(contest->original.samples, 0);
  EXPECT_EQ(opened_, 1);
  ASSERT_EQ(contest->contenders.size(), 2u);
  for (const Contender& contender : contest->contenders) {
    ASSERT_TRUE(contender.cpu_time.has_value());
    EXPECT_GT(contender.cpu_time->pairs, 0);
    EXPECT_EQ(contender.ratio.pairs, 0);
    EXPECT_NEAR(contender.decisive().value, OpOf(contender.candidate) == "Neg" ? 0.9 : 1, 1e-9);
  }
}

TEST_F(BusyContestTest, ARaceThatIsDisturbedLaterIsHeldOnOneThread) {
  quiet_runs_ = 100;
  us_["Neg"] = 50;
  cpu_us_["Neg"] = 90;
  options_.graphs_at_once = 2;
  AddCandidate("y: float32[4096] = Neg(x)", 90);
  AddCandidate("y: float32[4096] = Abs(x)", 91);
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  EXPECT_THAT(ops_, ElementsAre("Erf", "Neg")) << "the second was not begun";
  ASSERT_EQ(contest->contenders.size(), 2u);
  for (const Contender& contender : contest->contenders) {
    ASSERT_TRUE(contender.cpu_time.has_value());
    EXPECT_NEAR(contender.cpu_time->value, OpOf(contender.candidate) == "Neg" ? 0.9 : 1, 1e-9);
  }
}

TEST_F(BusyContestTest, WithoutTheDeviceForOneThreadTheRaceGoesOn) {
  us_["Neg"] = 40;
  one_thread_ = []() -> absl::StatusOr<std::shared_ptr<Device>> {
    return absl::UnavailableError("no memory for it");
  };
  AddCandidate("y: float32[4096] = Neg(x)");
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  ASSERT_EQ(contest->contenders.size(), 1u);
  EXPECT_FALSE(contest->contenders[0].cpu_time.has_value());
  EXPECT_TRUE(contest->contenders[0].ratio.surely_faster());
  EXPECT_FALSE(contest->original_tells_no_time) << "it ran as long as the candidate";
}

// Neither way to go on is possible, but what a race has shown before it was disturbed is there.
TEST_F(BusyContestTest, WhatWasShownStaysIfNothingCanGoOn) {
  quiet_runs_ = 100;
  us_["Neg"] = 50;
  one_thread_ = [this]() -> absl::StatusOr<std::shared_ptr<Device>> {
    us_ = {{"Erf++", -1}, {"Neg", 10}};
    return absl::UnavailableError("no memory for it");
  };
  AddCandidate("y: float32[4096] = Neg(x)", 90);
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  ASSERT_EQ(contest->contenders.size(), 1u);
  EXPECT_GT(contest->contenders[0].ratio.value, 0.25) << "it is not that of a second race";
}

TEST_F(BusyContestTest, WhatCannotRunOnOneThreadLosesNothingButItself) {
  cpu_us_["Neg"] = 90;
  cpu_us_["Abs"] = -1;
  AddCandidate("y: float32[4096] = Abs(x)", 100);
  AddCandidate("y: float32[4096] = Neg(x)", 101);
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  ASSERT_EQ(contest->contenders.size(), 1u);
  EXPECT_EQ(OpOf(contest->contenders[0].candidate), "Neg");
  EXPECT_GT(contest->contenders[0].cpu_time->pairs, 0);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("not on one thread")));
}

TEST_F(BusyContestTest, WithoutTimeCandidatesRunOnce) {
  options_.seconds = 1e-6;
  AddCandidate("y: float32[4096] = Neg(x)", 50);
  const absl::StatusOr<Contest> contest = Run();
  ASSERT_TRUE(contest.ok()) << contest.status();
  ASSERT_EQ(contest->contenders.size(), 1u);
  ASSERT_TRUE(contest->contenders[0].cpu_time.has_value());
  EXPECT_EQ(contest->contenders[0].cpu_time->pairs, 0);
}

TEST_F(BusyContestTest, WithoutCandidatesNothingRunsOnOneThread) {
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(opened_, 0);
}

}  // namespace
}  // namespace quotient::optimize
