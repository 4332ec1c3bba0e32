#include "core/optimize/challengers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/candidates.h"
#include "core/timing/memory_store.h"
#include "tests/support/fake_backend.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChallengersTest : public ::testing::Test {
 protected:
  std::shared_ptr<Device> DeviceThatRuns() {
    auto backend = kernels::fake::NewFakeBackend(&clock_);
    auto service = timing::NewTimingService(backend.get(), &store_, &lane_, {});
    return std::make_shared<Device>(MeasuringParts{
        .backend = std::move(backend), .service = std::move(service), .lane = &lane_});
  }

  static std::shared_ptr<Device> DeviceThatIsAModel() {
    auto model = cost::NewAnalyticCostModel("model:h200");
    EXPECT_OK(model.status());
    return std::make_shared<Device>(*std::move(model));
  }

  void SetDevice(std::shared_ptr<Device> device) {
    original_.device = std::move(device);
    original_.alternatives = kMostAlternatives;
    original_.prepared = Made("y = Relu(x)", 0).prepared;
  }

  // A graph with a kernel for each node.
  Packaged Made(absl::string_view nodes, double cost_us) {
    model::Graph graph = testing::MustParse(
        absl::StrCat("graph g { input x: float32[4,4]\n", nodes, "\noutput y }"));
    EXPECT_OK(ops::InferTypes(graph));
    Packaged packaged;
    packaged.prepared.cut = *verify::Cut(graph);
    auto groups = kernels::PartitionGraph(packaged.prepared.cut.graph, {});
    EXPECT_OK(groups.status());
    packaged.cost.groups = *std::move(groups);
    packaged.cost.total_us = cost_us;
    packaged.prepared.model.graph = std::move(graph);
    return packaged;
  }

  void Add(absl::string_view nodes, double cost_us) { candidates_.push_back(Made(nodes, cost_us)); }

  std::vector<double> CostsOfAgreeing(size_t most) {
    const Packaged original = Made("y = Relu(x)", 0);
    auto checker = verify::Checker::Create({&original.prepared.model.graph, &original.prepared.cut},
                                           {}, {}, {});
    EXPECT_OK(checker.status());
    const Compared compared =
        CompareChallengers(job_, baseline_, std::exchange(candidates_, {}), most, *checker);
    std::vector<double> costs;
    for (const Verified& each : compared.agreeing) costs.push_back(each.packaged.cost.total_us);
    return costs;
  }

  static std::vector<double> CostsOf(const std::vector<Packaged>& candidates) {
    std::vector<double> costs;
    for (const Packaged& each : candidates) costs.push_back(each.cost.total_us);
    return costs;
  }

  kernels::fake::FakeClock clock_;
  timing::MemoryStore store_;
  timing::Lane lane_;
  const ModelFiles files_ = {};
  const Options options_{.budget_seconds = 10};
  const Environment environment_{.clock = clock_};
  const StopCondition stop_ = {};
  Budget budget_{options_, clock_, stop_};
  const Job job_{.families = {},
                 .files = files_,
                 .options = options_,
                 .environment = environment_,
                 .stop = stop_,
                 .budget = budget_};
  Original original_;
  Baseline baseline_{.original = original_};
  std::vector<Packaged> candidates_;
};

constexpr char kOne[] = "y = Relu(x)";
constexpr char kTwo[] = "a = Relu(x)\ny = Relu(a)";
constexpr char kThree[] = "a = Relu(x)\nb = Relu(a)\ny = Relu(b)";

TEST_F(ChallengersTest, WhatGainsNothingIsLeftOutOnlyWherePredictionsDecide) {
  baseline_.cost.total_us = 100;
  for (const double cost_us : {90, 100, 110}) Add(kOne, cost_us);
  SetDevice(DeviceThatRuns());
  EXPECT_THAT(CostsOf(ChooseChallengers(job_, baseline_, candidates_)), ElementsAre(90, 100, 110));
  SetDevice(DeviceThatIsAModel());
  EXPECT_THAT(CostsOf(ChooseChallengers(job_, baseline_, candidates_)), ElementsAre(90));
}

TEST_F(ChallengersTest, WhereTheBudgetIsExceededOnlyPredictedGainsAreWorthBeingLateFor) {
  Add(kOne, 90);
  baseline_.cost.total_us = 100;
  for (const double cost_us : {100, 110}) Add(kOne, cost_us);
  SetDevice(DeviceThatRuns());
  clock_.Advance(13e6);
  EXPECT_THAT(CostsOf(ChooseChallengers(job_, baseline_, candidates_)), ElementsAre(90, 100, 110));
  clock_.Advance(2e6);
  EXPECT_THAT(CostsOf(ChooseChallengers(job_, baseline_, candidates_)), ElementsAre(90));
  // A kernel of the candidate has no price but an estimate.
  candidates_.front().cost.costs.assign(1, {.source = cost::CostSource::kModel});
  EXPECT_THAT(CostsOf(ChooseChallengers(job_, baseline_, candidates_)), IsEmpty());
}

TEST_F(ChallengersTest, NoMoreAreCheckedThanThereIsTimeToRun) {
  const auto all = static_cast<size_t>(MostCandidates(kMostAlternatives));
  SetDevice(DeviceThatRuns());
  baseline_.cost.total_us = 1'000;
  EXPECT_EQ(MostToCheck(job_, baseline_), all);
  baseline_.cost.total_us = 1'000'000;
  EXPECT_EQ(MostToCheck(job_, baseline_), 1u);
  SetDevice(DeviceThatIsAModel());
  EXPECT_EQ(MostToCheck(job_, baseline_), all) << "nothing is run";
}

TEST_F(ChallengersTest, TheCheapestAreComparedFirstIfNotAllAre) {
  SetDevice(DeviceThatRuns());
  Add(kThree, 3);
  Add(kOne, 1);
  Add(kTwo, 2);
  EXPECT_THAT(CostsOfAgreeing(2), ElementsAre(1, 2));
}

TEST_F(ChallengersTest, OneWithTheKernelsOfAnotherIsComparedOnlyIfThatWasRefused) {
  SetDevice(DeviceThatRuns());
  Add(kTwo, 3);
  Add(kTwo, 4);
  Add(kOne, 5);
  EXPECT_THAT(CostsOfAgreeing(9), ElementsAre(3, 5));
  Add("a = Relu(x)\ny = Neg(a)", 1);
  Add(kTwo, 2);
  EXPECT_THAT(CostsOfAgreeing(9), ElementsAre(2));
}

}  // namespace
}  // namespace quotient::optimize
