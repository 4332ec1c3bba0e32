#include "core/optimize/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/model/text.h"
#include "core/timing/memory_store.h"
#include "core/verify/random_inputs.h"
#include "tests/support/fake_backend.h"

namespace quotient::optimize {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Prepared PreparedFrom(absl::string_view nodes) {
  Prepared prepared;
  prepared.cut = *verify::Cut(*model::ParseGraph(
      absl::StrCat("graph g { input x: float32[4096]\n", nodes, "\noutput y }")));
  return prepared;
}

class DecideByRunningTest : public testing::Test {
 protected:
  // A device without a kernel for Tanh. The others take as long as `us_` says, give or take
  // `noise_` of it, by the device's own clock.
  absl::StatusOr<double> RunUs(const kernels::KernelSpec& spec) {
    if (spec.op == "Tanh") return absl::UnimplementedError("no kernel for Tanh");
    const auto at = us_.find(spec.op + std::string(spec.epilogue.size(), '+'));
    const double us = at == us_.end() ? 100 : at->second;
    return us * (1 + noise_ * (2 * rng_.NextDouble() - 1));
  }

  absl::StatusOr<Decision> Decide() {
    const std::vector<model::Tensor> inputs = verify::RandomInputs(original_.cut.graph, 1);
    const MeasureContext context = {.original = original_,
                                    .cost = cost_,
                                    .files = files_,
                                    .inputs = inputs,
                                    .reference = reference_,
                                    .backend = *backend_,
                                    .lane = lane_,
                                    .options = options_,
                                    .one_thread = one_thread_};
    return DecideByRunning(context, std::move(candidates_), StopCondition(&token_), &failures_);
  }

  // `predicted_us`: 0 if nothing is predicted.
  void AddCandidate(absl::string_view nodes, double predicted_us = 0) {
    Packaged& packaged = candidates_.emplace_back().packaged;
    packaged.written = std::make_shared<WrittenCandidate>();
    packaged.prepared = PreparedFrom(nodes);
    packaged.cost = Predicted(packaged.prepared, predicted_us);
  }

  cost::GraphCost Predicted(const Prepared& prepared, double us) const {
    cost::GraphCost cost;
    auto groups = kernels::PartitionGraph(prepared.cut.graph, backend_->partition());
    if (groups.ok()) cost.groups = *std::move(groups);
    cost.costs.resize(cost.groups.size(), {.source = cost::CostSource::kMeasured});
    cost.total_us = us;
    return cost;
  }

  static std::string OpOf(const Winner& winner) {
    return winner.candidate.packaged.prepared.cut.graph.nodes[0].op;
  }

  timing::Lane lane_;
  kernels::fake::FakeClock clock_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::fake::NewFakeBackend(
      &clock_, {.run_us = [this](const kernels::KernelSpec& spec, int) { return RunUs(spec); }});
  // By operator, with a plus sign for each operator behind it. Other kernels take 100 us.
  std::map<std::string, double> us_;
  double noise_ = 0;
  Rng rng_{7};
  Prepared original_ = PreparedFrom(R"(a: float32[4096] = Erf(x)
                                       b: float32[4096] = Erf(a)
                                       y: float32[4096] = Erf(b))");
  cost::GraphCost cost_ = Predicted(original_, 100);
  const verify::Reference* reference_ = nullptr;
  MeasureOptions options_;
  std::function<absl::StatusOr<std::shared_ptr<Device>>()> one_thread_;
  CancelToken token_;
  ModelFiles files_;  // Has no effect, as the device runs graphs.
  std::vector<Verified> candidates_;
  std::vector<std::string> failures_;
};

// The winner comes with its own times, whatever stood before it.
TEST_F(DecideByRunningTest, ACandidateThatCannotRunLeavesTheOthers) {
  us_["Neg"] = 10;
  AddCandidate("y: float32[4096] = Tanh(x)");
  AddCandidate("y: float32[4096] = Abs(x)");
  AddCandidate("y: float32[4096] = Neg(x)");
  AddCandidate("y: float32[4096] = Relu(x)");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("Tanh")));
  EXPECT_DOUBLE_EQ(decision->original.median_us, 100);
  ASSERT_TRUE(decision->winner.has_value());
  const Winner& winner = *decision->winner;
  EXPECT_EQ(OpOf(winner), "Neg");
  EXPECT_GT(winner.measured.runs, 0);
  EXPECT_DOUBLE_EQ(winner.measured.median_us, 10);
  ASSERT_TRUE(winner.gain.has_value());
  EXPECT_NEAR(winner.gain->low, 90, 1e-9);
  ASSERT_EQ(decision->considered.size(), 3u);
  EXPECT_EQ(std::ranges::count(decision->considered, true, &report::Considered::taken), 1);
}

// As with all of them at once, and each is compared with the original.
TEST_F(DecideByRunningTest, CandidatesMayRunAFewAtATime) {
  us_ = {{"Neg", 10}, {"Abs", 90}, {"Relu", 200}};
  for (const size_t graphs : {1, 2, 3, 100}) {
    options_.graphs_at_once = graphs;
    candidates_.clear();
    AddCandidate("y: float32[4096] = Abs(x)", 90);
    AddCandidate("y: float32[4096] = Neg(x)", 10);
    AddCandidate("y: float32[4096] = Relu(x)", 200);
    const absl::StatusOr<Decision> decision = Decide();
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_DOUBLE_EQ(decision->original.median_us, 100);
    ASSERT_TRUE(decision->winner.has_value());
    EXPECT_EQ(OpOf(*decision->winner), "Neg");
    ASSERT_EQ(decision->considered.size(), 3u);
    EXPECT_EQ(decision->considered[2].grounds, report::Grounds::kSurelySlower);
  }
}

class DecideOnABusyMachineTest : public DecideByRunningTest {
 protected:
  DecideOnABusyMachineTest() {
    backend_ = kernels::fake::NewFakeBackend(
        &clock_, {.run_us = [this](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
                    const absl::StatusOr<double> us = RunUs(spec);
                    if (!us.ok()) return us;
                    ops_.insert(spec.op);
                    return *us * rng_.Uniform(0.7, 1.3);
                  },
                  .disturbed = [this] { return ++runs_ > quiet_runs_; }});
    one_thread_ = [this]() -> absl::StatusOr<std::shared_ptr<Device>> {
      ++opened_;
      auto backend = kernels::fake::NewFakeBackend(
          &clock_,
          {.run_us = [this](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
            const auto at = cpu_us_.find(spec.op);
            if (at == cpu_us_.end()) return 100;
            return at->second > 0 ? absl::StatusOr<double>(at->second)
                                  : absl::UnimplementedError("not on one thread");
          }});
      auto service = timing::NewTimingService(backend.get(), &store_, &lane_);
      return std::make_shared<Device>(MeasuringParts{
          .backend = std::move(backend), .service = std::move(service), .lane = &lane_});
    };
    options_.threads = 2;
  }

  timing::MemoryStore store_;
  int quiet_runs_ = 0;         // How many runs are not disturbed before the others are.
  int runs_ = 0;               // Of whole graphs, with all threads.
  std::set<std::string> ops_;  // What was run with all threads.
  // Of runs on one thread, by operator. Not positive for one that cannot run so; 100 for others.
  std::map<std::string, double> cpu_us_;
  int opened_ = 0;
};

TEST_F(DecideOnABusyMachineTest, CpuTimeOnOneThreadDecides) {
  cpu_us_["Neg"] = 90;
  cpu_us_["Abs"] = 80;
  AddCandidate("y: float32[4096] = Neg(x)", 100);
  AddCandidate("y: float32[4096] = Abs(x)", 101);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_TRUE(decision->disturbed);
  EXPECT_TRUE(decision->by_cpu_time);
  EXPECT_EQ(opened_, 1);
  ASSERT_EQ(decision->considered.size(), 2u);
  const std::vector<double> gains = {10, 20};
  for (size_t i = 0; i < gains.size(); ++i) {
    EXPECT_EQ(decision->considered[i].grounds, report::Grounds::kPredictedAndMeasured);
    ASSERT_TRUE(decision->considered[i].cpu_time_percent.has_value());
    EXPECT_NEAR(decision->considered[i].cpu_time_percent->high, gains[i], 1e-9);
  }
  ASSERT_TRUE(decision->winner.has_value());
  EXPECT_NEAR(*decision->winner->gain_percent, decision->considered[0].taken ? 10 : 20, 1e-9);
  EXPECT_NEAR(decision->winner->gain->low, *decision->winner->gain_percent, 1e-9);
}

// What a candidate would take with all threads would say nothing.
TEST_F(DecideOnABusyMachineTest, OnlyTheOriginalRunsWithAllThreads) {
  cpu_us_["Neg"] = 90;
  AddCandidate("y: float32[4096] = Neg(x)", 90);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(ops_, ElementsAre("Erf"));
  EXPECT_GT(decision->original.runs, 0);
  ASSERT_TRUE(decision->winner.has_value());
  EXPECT_EQ(decision->winner->measured.runs, 0);
  EXPECT_FALSE(decision->considered[0].measured_percent.has_value());
}

TEST_F(DecideOnABusyMachineTest, ARaceThatIsDisturbedLaterIsHeldOnOneThread) {
  quiet_runs_ = 100;
  us_["Neg"] = 50;
  cpu_us_["Neg"] = 90;
  options_.graphs_at_once = 2;
  AddCandidate("y: float32[4096] = Neg(x)", 90);
  AddCandidate("y: float32[4096] = Abs(x)", 91);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(ops_, Contains("Neg"));
  EXPECT_TRUE(decision->disturbed);
  EXPECT_TRUE(decision->by_cpu_time);
  ASSERT_EQ(decision->considered.size(), 2u);
  ASSERT_TRUE(decision->winner.has_value());
  EXPECT_NEAR(*decision->winner->gain_percent, 10, 1e-9);
  ASSERT_TRUE(decision->considered[1].cpu_time_percent.has_value());
}

TEST_F(DecideOnABusyMachineTest, WhatIsFasterByTheDisturbedRunsAloneIsNotTaken) {
  us_["Neg"] = 50;
  AddCandidate("y: float32[4096] = Neg(x)");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_TRUE(decision->by_cpu_time);
  EXPECT_FALSE(decision->winner.has_value());
}

// Its times replace those of the first turns, which are few.
TEST_F(DecideOnABusyMachineTest, WithoutTheDeviceForOneThreadTheRaceGoesOn) {
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

TEST_F(DecideOnABusyMachineTest, WhatCannotRunOnOneThreadLosesNothingButItself) {
  cpu_us_["Neg"] = 90;
  cpu_us_["Abs"] = -1;
  AddCandidate("y: float32[4096] = Abs(x)", 100);
  AddCandidate("y: float32[4096] = Neg(x)", 101);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  ASSERT_EQ(decision->considered.size(), 1u);
  EXPECT_TRUE(decision->considered[0].taken);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("not on one thread")));
}

TEST_F(DecideOnABusyMachineTest, WithoutTimeCandidatesRunOnceAndAreNotTaken) {
  options_.seconds = 1e-6;
  us_["Neg"] = 50;
  cpu_us_["Neg"] = 50;
  AddCandidate("y: float32[4096] = Neg(x)", 50);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  ASSERT_EQ(decision->considered.size(), 1u);
  EXPECT_FALSE(decision->considered[0].cpu_time_percent.has_value());
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

TEST_F(DecideOnABusyMachineTest, WithoutCandidatesNothingRunsOnOneThread) {
  ASSERT_TRUE(Decide().ok());
  EXPECT_EQ(opened_, 0);
}

// As if its buffers lay better in memory the first time.
TEST_F(DecideByRunningTest, ASurprisingGainIsMeasuredAgain) {
  for (const double us_of_second : {100.0, 94.0}) {
    SCOPED_TRACE(us_of_second);
    int compiled = 0;
    backend_ = kernels::fake::NewFakeBackend(
        &clock_,
        {.run_us = [&](const kernels::KernelSpec& spec, int run) -> absl::StatusOr<double> {
          if (spec.op != "Neg") return 100;
          compiled += run == 1 ? 1 : 0;
          return compiled <= 1 ? 94 : us_of_second;
        }});
    AddCandidate("y: float32[4096] = Neg(x)", 100);
    const absl::StatusOr<Decision> decision = Decide();
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_EQ(compiled, 2);
    EXPECT_EQ(decision->winner.has_value(), us_of_second < 100);
    ASSERT_EQ(decision->considered.size(), 1u);
    EXPECT_NEAR(decision->considered[0].measured_percent->high, 6, 1e-9);
    EXPECT_NEAR(decision->considered[0].measured_percent->low, 100 - us_of_second, 1e-9);
    candidates_.clear();
  }
}

TEST_F(DecideByRunningTest, AGainThatWasPredictedIsMeasuredOnce) {
  int compiled = 0;
  backend_ = kernels::fake::NewFakeBackend(
      &clock_, {.run_us = [&](const kernels::KernelSpec& spec, int run) -> absl::StatusOr<double> {
        if (spec.op != "Neg") return 100;
        compiled += run == 1 ? 1 : 0;
        return 94;
      }});
  AddCandidate("y: float32[4096] = Neg(x)", 94);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_EQ(compiled, 1);
  EXPECT_TRUE(decision->winner.has_value());
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
  EXPECT_EQ(OpOf(*decision->winner), "Neg");
}

TEST_F(DecideByRunningTest, WhatIsSurelyFasterGoesBeforeWhatIsPredictedToBe) {
  us_ = {{"Neg", 50}, {"Abs", 30}};
  AddCandidate("y: float32[4096] = Abs(x)", 60);
  AddCandidate("y: float32[4096] = Neg(x)", 40);
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok() && decision->winner.has_value());
  EXPECT_EQ(OpOf(*decision->winner), "Abs");
}

TEST_F(DecideByRunningTest, WithoutCandidatesTheOriginalIsMeasuredAlone) {
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->winner.has_value());
  EXPECT_GT(decision->original.runs, 0);
}

TEST_F(DecideByRunningTest, AnOriginalThatCannotRunIsAnError) {
  original_ = PreparedFrom("y: float32[4096] = Tanh(x)");
  EXPECT_EQ(Decide().status().code(), absl::StatusCode::kUnimplemented);
}

// The device computes what its graph says; that another graph was promised is as if a kernel of its
// own were wrong.
TEST_F(DecideByRunningTest, WhoeverComputesSomethingElseLeaves) {
  const auto reference = verify::Reference::Create(original_.cut, 1, 1, 1, StopCondition(), {});
  ASSERT_TRUE(reference.ok());
  reference_ = &*reference;
  AddCandidate("y: float32[4096] = Neg(x)");
  AddCandidate(R"(a: float32[4096] = Erf(x)
                                                        b: float32[4096] = Erf(a)
                                                        c: float32[4096] = Erf(b)
                                                        y: float32[4096] = Identity(c))");
  const absl::StatusOr<Decision> decision = Decide();
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("a kernel of this device is wrong: output y")));
}

// As where a tile is lost: no rounding of float32 is off by a thousandth of the norm, but products
// of operands that are rounded to TF32 may be, over a deep network; not by a fiftieth.
TEST_F(DecideByRunningTest, HowFarOffIsWrongDependsOnTheDevice) {
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
      ASSERT_TRUE(Decide().ok());
      const bool is_wrong = arithmetic == Arithmetic::kFloat32 ||
                            (arithmetic == Arithmetic::kTf32 && most == std::string("0.98"));
      EXPECT_EQ(failures_.size(), is_wrong ? 1 : 0) << most;
    }
  }
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
