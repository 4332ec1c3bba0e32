#include "core/optimize/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/core/optimize/contest_fixture.h"

namespace quotient::optimize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using DecideByRunningTest = ContestTest;
using DecideOnABusyMachineTest = BusyContestTest;

// The winner comes with its own times, whatever stood before it.
TEST_F(DecideByRunningTest, TheFastestIsTakenAfterOneThatCannotRun) {
  us_["Neg"] = 10;
  AddCandidate("y: float32[4096] = Tanh(x)");
  AddCandidate("y: float32[4096] = Abs(x)");
  AddCandidate("y: float32[4096] = Neg(x)");
  AddCandidate("y: float32[4096] = Relu(x)");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("Tanh")));
  EXPECT_DOUBLE_EQ(decision->original.median_us, 100);
  EXPECT_FALSE(decision->original.disturbed);
  ASSERT_TRUE(decision->winner.has_value());
  const Winner& winner = *decision->winner;
  EXPECT_EQ(OpOf(winner.candidate), "Neg");
  EXPECT_GT(winner.measured.runs, 0);
  EXPECT_DOUBLE_EQ(winner.measured.median_us, 10);
  ASSERT_TRUE(winner.gain.has_value());
  EXPECT_NEAR(winner.gain->low, 90, 1e-9);
  ASSERT_EQ(decision->considered.size(), 3u);
  EXPECT_EQ(std::ranges::count(decision->considered, true, &report::Considered::taken), 1);
}

// With the gain that the second measurement leaves.
TEST_F(DecideByRunningTest, ASurprisingGainThatStaysIsTaken) {
  for (const double us_of_second : {100.0, 94.0}) {
    SCOPED_TRACE(us_of_second);
    CompileNegTwice(94, us_of_second);
    AddCandidate("y: float32[4096] = Neg(x)", 100);
    const absl::StatusOr<Decision> decision = Decide();
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_EQ(decision->winner.has_value(), us_of_second < 100);
    ASSERT_EQ(decision->considered.size(), 1u);
    EXPECT_NEAR(decision->considered[0].measured_percent->high, 6, 1e-9);
    EXPECT_NEAR(decision->considered[0].measured_percent->low, 100 - us_of_second, 1e-9);
    candidates_.clear();
  }
}

TEST_F(DecideByRunningTest, AnOriginalThatCannotRunIsAnError) {
  original_ = PreparedFrom("y: float32[4096] = Tanh(x)");
  EXPECT_EQ(Decide().status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(DecideOnABusyMachineTest, CpuTimeOnOneThreadDecides) {
  cpu_us_["Neg"] = 90;
  cpu_us_["Abs"] = 80;
  AddCandidate("y: float32[4096] = Neg(x)", 100);
  AddCandidate("y: float32[4096] = Abs(x)", 101);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_TRUE(decision->disturbed);
  EXPECT_TRUE(decision->by_cpu_time);
  EXPECT_TRUE(decision->original.disturbed) << "its runs tell no time";
  EXPECT_EQ(opened_, 1);
  ASSERT_EQ(decision->considered.size(), 2u);
  const std::vector<double> gains = {10, 20};
  for (size_t i = 0; i < gains.size(); ++i) {
    EXPECT_EQ(decision->considered[i].grounds, report::Grounds::kCpuTime);
    EXPECT_GT(decision->considered[i].pairs, 0);
    ASSERT_TRUE(decision->considered[i].cpu_time_percent.has_value());
    EXPECT_NEAR(decision->considered[i].cpu_time_percent->high, gains[i], 1e-9);
  }
  ASSERT_TRUE(decision->winner.has_value());
  EXPECT_NEAR(decision->winner->gain_percent, decision->considered[0].taken ? 10 : 20, 1e-9);
  EXPECT_NEAR(decision->winner->gain->low, decision->winner->gain_percent, 1e-9);
}

TEST_F(DecideOnABusyMachineTest, WhatIsFasterByTheDisturbedRunsAloneIsNotTaken) {
  us_["Neg"] = 50;
  AddCandidate("y: float32[4096] = Neg(x)");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_TRUE(decision->by_cpu_time);
  EXPECT_FALSE(decision->winner.has_value());
}

TEST_F(DecideOnABusyMachineTest, WithoutTheDeviceForOneThreadTheRunsDecide) {
  us_["Neg"] = 40;
  one_thread_ = []() -> absl::StatusOr<std::shared_ptr<Device>> {
    return absl::UnavailableError("no memory for it");
  };
  AddCandidate("y: float32[4096] = Neg(x)");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->by_cpu_time);
  ASSERT_TRUE(decision->winner.has_value());
  EXPECT_EQ(decision->considered[0].grounds, report::Grounds::kMeasured);
}

TEST_F(DecideOnABusyMachineTest, WhatCannotRunOnOneThreadIsNotTaken) {
  cpu_us_["Neg"] = 90;
  cpu_us_["Abs"] = -1;
  AddCandidate("y: float32[4096] = Abs(x)", 100);
  AddCandidate("y: float32[4096] = Neg(x)", 101);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  ASSERT_EQ(decision->considered.size(), 1u);
  EXPECT_TRUE(decision->considered[0].taken);
  EXPECT_EQ(decision->winner->measured.runs, 0) << "with all threads";
  EXPECT_FALSE(decision->considered[0].measured_percent.has_value());
}

TEST_F(DecideOnABusyMachineTest, WithoutTimeNothingIsTaken) {
  options_.seconds = 1e-6;
  us_["Neg"] = 50;
  AddCandidate("y: float32[4096] = Neg(x)", 50);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->winner.has_value());
}

// It is taken for what it saves, and no gain is told of it.
TEST_F(DecideOnABusyMachineTest, WithoutTimeASubsetOfTheWorkIsTakenAndNoGainIsTold) {
  options_.seconds = 1e-6;
  us_["Erf+"] = 50;
  AddCandidate(R"(a: float32[4096] = Erf(x)
                  y: float32[4096] = Erf(a))",
               98);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->by_cpu_time);
  ASSERT_TRUE(decision->winner.has_value());
  EXPECT_FALSE(decision->winner->gain.has_value());
  EXPECT_EQ(decision->winner->gain_percent, 0);
}

// The last Erf goes, which saves some of the time, but runs differ by much more than that.
TEST_F(DecideByRunningTest, ASubsetOfTheWorkIsTakenThoughNoiseHidesTheGain) {
  noise_ = 0.5;
  us_["Erf+"] = 98;
  options_.seconds = 1e-6;  // Only the fewest turns are taken.
  AddCandidate(R"(a: float32[4096] = Erf(x)
                  y: float32[4096] = Erf(a))",
               98);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  ASSERT_EQ(decision->considered.size(), 1u);
  EXPECT_EQ(decision->considered[0].grounds, report::Grounds::kSubsetOfWork);
  EXPECT_TRUE(decision->winner.has_value());
}

TEST_F(DecideByRunningTest, NoiseHidesAGainThatWouldNeedOtherKernels) {
  noise_ = 0.5;
  us_["Neg"] = 98;
  options_.seconds = 1e-6;
  AddCandidate("y: float32[4096] = Neg(x)", 98);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_EQ(decision->considered[0].grounds, report::Grounds::kNotSure);
  EXPECT_FALSE(decision->winner.has_value());
}

TEST_F(DecideByRunningTest, WhatIsSurelySlowerIsNotTakenThoughItIsASubset) {
  us_["Erf+"] = 110;
  AddCandidate(R"(a: float32[4096] = Erf(x)
                  y: float32[4096] = Erf(a))",
               70);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->winner.has_value());
  EXPECT_EQ(decision->considered[0].grounds, report::Grounds::kSurelySlower);
}

TEST_F(DecideByRunningTest, OfEqualsTheOneThatIsPredictedToBeTheBestIsTaken) {
  us_ = {{"Neg", 50}, {"Abs", 50}};
  AddCandidate("y: float32[4096] = Abs(x)", 60);
  AddCandidate("y: float32[4096] = Neg(x)", 40);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok() && decision->winner.has_value());
  EXPECT_EQ(OpOf(decision->winner->candidate), "Neg");
}

TEST_F(DecideByRunningTest, WhatIsSurelyFasterGoesBeforeWhatIsPredictedToBe) {
  us_ = {{"Neg", 50}, {"Abs", 30}};
  AddCandidate("y: float32[4096] = Abs(x)", 60);
  AddCandidate("y: float32[4096] = Neg(x)", 40);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok() && decision->winner.has_value());
  EXPECT_EQ(OpOf(decision->winner->candidate), "Abs");
}

TEST_F(DecideByRunningTest, WithoutCandidatesTheOriginalIsMeasuredAlone) {
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->winner.has_value());
  EXPECT_GT(decision->original.runs, 0);
}

// A kernel of a graph, by its operator.
struct Kernel {
  const char* op;
  double us;
  cost::CostSource source = cost::CostSource::kMeasured;
  bool unsupported = false;
};

cost::GraphCost CostOf(const std::vector<Kernel>& kernels) {
  cost::GraphCost cost;
  for (const Kernel& kernel : kernels) {
    cost.groups.emplace_back().spec.op = kernel.op;
    cost.costs.push_back({kernel.us, 0, kernel.source, true, kernel.unsupported});
    cost.total_us += kernel.us;
  }
  return cost;
}

struct Choice {
  std::optional<size_t> winner;  // Index of a candidate.
  bool by_estimates = false;
};

// Decides among candidates with these kernels. The journal of each has as many entries as there are
// candidates before it.
Choice ByModel(const std::vector<Kernel>& original,
               const std::vector<std::vector<Kernel>>& candidates) {
  std::vector<Verified> verified;
  for (const std::vector<Kernel>& kernels : candidates) {
    Packaged packaged;
    packaged.cost = CostOf(kernels);
    packaged.journal.resize(verified.size());
    verified.push_back({std::move(packaged), {}});
  }
  const Decision decision = DecideByModel(CostOf(original), std::move(verified));
  Choice choice{.by_estimates = decision.by_estimates};
  if (decision.winner.has_value()) {
    choice.winner = decision.winner->candidate.packaged.journal.size();
  }
  return choice;
}

constexpr cost::CostSource kModel = cost::CostSource::kModel;

TEST(DecideByModelTest, WhatWasMeasuredGoesBeforeWhatIsEstimated) {
  const std::vector<Kernel> original = {{"Conv", 10}, {"Relu", 10}};
  Choice decision = ByModel(original, {{{"Gemm", 1, kModel}}, {{"Conv", 10}, {"Abs", 9}}});
  EXPECT_EQ(decision.winner, 1);
  EXPECT_FALSE(decision.by_estimates);
  decision = ByModel(original, {{{"Gemm", 2, kModel}}, {{"Gemm", 1, kModel}}, {{"Conv", 20}}});
  EXPECT_EQ(decision.winner, 1);
  EXPECT_TRUE(decision.by_estimates);
  decision = ByModel(original, {{{"Gemm", 20, kModel}}, {{"Conv", 20}}});
  EXPECT_EQ(decision.winner, std::nullopt);
  EXPECT_FALSE(decision.by_estimates);
}

// Estimates of both cancel out.
TEST(DecideByModelTest, AGainRestsOnTheKernelsThatDiffer) {
  const std::vector<Kernel> original = {{"Erf", 5, kModel}, {"Conv", 10}, {"Relu", 10}};
  const Choice kept = ByModel(original, {{{"Erf", 5, kModel}, {"Conv", 10}}});
  EXPECT_EQ(kept.winner, 0);
  EXPECT_FALSE(kept.by_estimates);
  EXPECT_TRUE(ByModel(original, {{{"Conv", 10}, {"Relu", 10}}}).by_estimates);
  EXPECT_TRUE(
      ByModel(original, {{{"Erf", 5, kModel}, {"Erf", 5, kModel}, {"Conv", 10}}}).by_estimates);
}

TEST(DecideByModelTest, WhatTheDeviceCannotRunIsNotTaken) {
  const std::vector<Kernel> original = {{"Conv", 10}};
  EXPECT_EQ(ByModel(original, {{{"Gemm", 1, kModel, true}}, {{"Gemm", 2, kModel}}}).winner, 1);
}

TEST(MostChallengers, AreFewWhereARunIsSlow) {
  EXPECT_GT(MostChallengers({.groups = {}, .costs = {}, .total_us = 1'000}, 10), 100u);
  EXPECT_EQ(MostChallengers({.groups = {}, .costs = {}, .total_us = 100'000}, 10), 2u);
  EXPECT_EQ(MostChallengers({.groups = {}, .costs = {}, .total_us = 100'000}, 2), 1u);
}

}  // namespace
}  // namespace quotient::optimize
