#include "core/pricing/tensor_workspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/rng.h"
#include "core/base/sequence_hash.h"
#include "core/cost/cost_model.h"
#include "core/model/text.h"
#include "core/optimize/options.h"
#include "core/optimize/prepared.h"
#include "core/search/mcts.h"
#include "core/search/saturate.h"
#include "core/search/walk.h"
#include "core/timing/service.h"
#include "tests/core/pricing/arriving_model.h"
#include "tests/support/clock_probe.h"
#include "tests/support/fake_backend.h"
#include "tests/support/networks/networks.h"
#include "tests/support/status_matchers.h"

namespace quotient::pricing {
namespace {

using ::testing::Each;
using ::testing::Pair;

struct Network {
  explicit Network(const std::string& name)
      : bytes(networks::MakeNetwork(name, {.variant = networks::Variant::kPaper})
                  ->SerializeAsString()),
        prepared(*optimize::Prepare({.name = name, .model = bytes}, optimize::Options(), 1, {})) {}

  const std::string bytes;  // what weights lie in
  const optimize::Prepared prepared;
};

// A tree search on a network with too little room for all that there is.
class NetworkSearch {
 public:
  NetworkSearch(const Network& network, double growth, cost::CostModel* model,
                const Clock& clock = Clock::System())
      : network_(network), prices_(model), workspace_(*Make()), task_{.clock = clock} {
    task_.limits.max_enodes = static_cast<int64_t>(growth * workspace_->graph().num_enodes());
    task_.limits.max_simulations = 150;
    task_.make_workspace = [this] { return Make(); };
  }

  search::Outcome Run() { return *search::MctsStrategy().Run(*workspace_, task_); }
  search::Outcome Saturate() { return *search::SaturateStrategy().Run(*workspace_, task_); }
  // The best graph where the search has left it.
  std::string BestGraph() {
    const auto roots = workspace_->tensors().CanonicalRoots();
    workspace_->costs().Refresh();
    const extract::Selection selection = *extract::FindExtractor("dag")->Extract(
        {workspace_->graph(), workspace_->costs(), roots}, {});
    return model::PrintGraph(
        *domain::ToGraph(workspace_->tensors(), selection.choice, workspace_->rules()), 16);
  }

  // What the best graph costs where the search has left it, once all kernels are measured that
  // extraction would choose.
  double SettledCost(ArrivingModel& model) {
    ENodeCosts& costs = workspace_->costs();
    costs.Refresh();
    while (true) {
      model.Arrive();
      costs.Update();
      const auto roots = workspace_->tensors().CanonicalRoots();
      const extract::Selection selection =
          *extract::FindExtractor("dag")->Extract({workspace_->graph(), costs, roots}, {});
      std::vector<egraph::ENodeId> chosen;
      for (const egraph::ENodeId node : selection.choice) {
        if (node.valid()) chosen.push_back(node);
      }
      if (costs.Request(chosen) == 0) return selection.cost;
    }
  }

  search::Task& task() { return task_; }
  KernelPrices& prices() { return prices_; }
  TensorWorkspace& workspace() { return *workspace_; }

 private:
  absl::StatusOr<std::unique_ptr<TensorWorkspace>> Make() {
    TensorWorkspace::Settings settings;
    settings.max_opset = 20;
    return TensorWorkspace::Make(network_.prepared.graph, network_.prepared.measured, settings,
                                 &prices_);
  }

  const Network& network_;
  KernelPrices prices_;
  std::unique_ptr<TensorWorkspace> workspace_;
  search::Task task_;
};

// Where costs are known, the answer is a function of the seed.
void ExpectSameForAnyNumberOfWorkers(const std::string& name, double growth) {
  const Network network(name);
  const auto model = *cost::NewAnalyticCostModel("model:h200");
  std::string graph;
  search::Outcome outcome;
  for (const int workers : {1, 2, 8}) {
    SCOPED_TRACE(workers);
    NetworkSearch search(network, growth, model.get());
    search.task().workers = workers;
    const search::Outcome got = search.Run();
    if (workers == 1) {
      outcome = got;
      graph = search.BestGraph();
      EXPECT_GT(got.simulations, 100);
      EXPECT_LT(got.improvements.back().cost, got.improvements.front().cost);
      continue;
    }
    EXPECT_EQ(search.BestGraph(), graph);
    EXPECT_EQ(got.simulations, outcome.simulations);
    EXPECT_EQ(got.states, outcome.states);
    EXPECT_EQ(got.by_rule, outcome.by_rule);
    ASSERT_EQ(got.improvements.size(), outcome.improvements.size());
    for (size_t i = 0; i < got.improvements.size(); ++i) {
      EXPECT_EQ(got.improvements[i].cost, outcome.improvements[i].cost);
    }
  }
}

TEST(TensorWorkspace, BertIsTheSameForAnyNumberOfWorkers) {
  ExpectSameForAnyNumberOfWorkers("bert", 2.5);
}
TEST(TensorWorkspace, InceptionIsTheSameForAnyNumberOfWorkers) {
  ExpectSameForAnyNumberOfWorkers("inception_v3", 1.5);
}

// A workspace remembers parts of the states that it has valued, and returns to earlier states.
void ExpectWorthTheSameWhateverWasValuedBefore(const std::string& name, double growth) {
  const Network network(name);
  const auto model = *cost::NewAnalyticCostModel("model:h200");
  NetworkSearch search(network, growth, model.get());
  TensorWorkspace& workspace = search.workspace();
  search::Walk walk(&workspace, &search.task().limits, &Clock::System());
  Rng rng(1);
  for (int i = 0; i < 4; ++i) {
    std::vector<search::Action> path;
    for (int step = 0; step < 6; ++step) {
      SCOPED_TRACE(absl::StrCat("path ", i, ", step ", step));
      const search::State state = *walk.GoTo(path, {});
      const ENodeCosts costs(workspace.tensors(), &search.prices(), 0);
      const auto roots = workspace.tensors().CanonicalRoots();
      const extract::Selection selection =
          *extract::FindExtractor("dag")->Extract({workspace.graph(), costs, roots}, {});
      EXPECT_EQ(state.cost, selection.cost);
      const auto actions = walk.Actions(search::Walk::Places::kOfAllRules, {});
      if (actions.empty()) break;
      path.push_back(actions[rng.Below(actions.size())]);
    }
  }
}

TEST(TensorWorkspace, AStateOfBertIsWorthTheSameWhateverWasValuedBefore) {
  ExpectWorthTheSameWhateverWasValuedBefore("bert", 2.5);
}
TEST(TensorWorkspace, AStateOfInceptionIsWorthTheSameWhateverWasValuedBefore) {
  ExpectWorthTheSameWhateverWasValuedBefore("inception_v3", 1.5);
}

// Products that are wider than those of the original are slow, which nobody would think.
double WideProductsAreSlow(const kernels::KernelSpec& spec) {
  if (spec.op != "MatMul") return spec.op == "Slice" ? 0.125 : 1;
  return spec.outputs[0].type.dims().back() > 1024 ? 1'000 : 1;
}

// A number from 1 to 10 for each kernel, which no prior would guess.
ArrivingModel::Truth AnyCosts(uint64_t seed) {
  return [seed](const kernels::KernelSpec& spec) {
    SequenceHash hash;
    hash.Add(seed);
    for (const char letter : kernels::KernelKey(spec)) hash.Add(static_cast<uint64_t>(letter));
    return 1.0 + static_cast<double>(absl::Uint128Low64(hash.value()) % 1'000) / 111;
  };
}

// Expects that a tree search that knows nothing of any kernel at first ends with a graph that is no
// dearer than that of saturation, wherever measuring ends it.
void ExpectNeverDearerThanSaturation(const std::string& name, double growth) {
  const Network network(name);
  for (const uint64_t seed : {1, 2}) {
    ArrivingModel known(AnyCosts(seed));
    NetworkSearch simple(network, growth, &known);
    simple.Saturate();
    const double bound = simple.SettledCost(known);
    for (const int most_measured : {2, 15, 1'000}) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", time for ", most_measured, " measurements"));
      kernels::fake::FakeClock clock;
      ArrivingModel model([&clock, cost = AnyCosts(seed)](const kernels::KernelSpec& spec) {
        clock.Advance(1e6);
        return cost(spec);
      });
      NetworkSearch search(network, growth, &model, clock);
      search.task().stop = StopCondition().WithBudget(clock, most_measured + 0.5);
      EXPECT_GT(search.Run().improvements.size(), 1u);
      EXPECT_LE(search.SettledCost(model), bound * (1 + 1e-9));
    }
  }
}

TEST(TensorWorkspace, BertIsNeverDearerThanBySaturation) {
  ExpectNeverDearerThanSaturation("bert", 2.5);
}
TEST(TensorWorkspace, InceptionIsNeverDearerThanBySaturation) {
  ExpectNeverDearerThanSaturation("inception_v3", 1.5);
}

TEST(TensorWorkspace, WaitsOnlyForWhatTheGrownStateNeeds) {
  const Network bert("bert");
  ArrivingModel model(WideProductsAreSlow);
  model.Withhold();
  NetworkSearch search(bert, 1.5, &model);
  search.task().workers = 2;
  std::optional<int> waits;
  bool waited = false;
  search.task().hook = [&](const egraph::EGraph&, const search::Outcome&) {
    if (!waits.has_value()) waits = model.waits();
    waited |= model.waits() > *waits;
  };
  const search::Outcome outcome = search.Run();
  // Nothing arrives, and the search goes on by the prior. It waits before the first simulation, for
  // the best graph of the grown state, and after the last.
  EXPECT_EQ(waits, 1);
  EXPECT_FALSE(waited);
  EXPECT_GT(model.waits(), 1);
  EXPECT_GE(outcome.simulations, 100);
  EXPECT_LT(outcome.improvements.back().cost, outcome.improvements.front().cost);
  EXPECT_GT(model.num_waiting(), 4u);
  EXPECT_LT(model.num_waiting(), 100u);
  EXPECT_EQ(search.prices().num_measured(), 0);
  EXPECT_THAT(model.Requests(), Each(Pair(::testing::_, 1)));
  EXPECT_EQ(search.prices().version(), 0);
  // What the best graphs are made of adds up to what they cost, with what their kernels share.
  for (const search::Improvement& step : outcome.improvements) {
    EXPECT_NEAR(search.prices().CostOf(step.bill), step.cost, 1e-4);
  }
}

// The best graph by the prior turns out to be slow, and another one is found.
TEST(TensorWorkspace, IsTheBestByWhatHasArrivedMeanwhile) {
  const Network bert("bert");
  for (const int workers : {1, 8}) {
    SCOPED_TRACE(workers);
    ArrivingModel model(WideProductsAreSlow);
    model.ArriveAfter(30);
    NetworkSearch search(bert, 2.5, &model);
    search.task().workers = workers;
    const std::vector<search::Improvement> steps = search.Run().improvements;
    EXPECT_GT(search.prices().version(), 0);
    EXPECT_THAT(model.Requests(), Each(Pair(::testing::_, 1)));
    double dearest = 0;
    for (const search::Improvement& step : steps) {
      EXPECT_EQ(step.cost, search.prices().CostOf(step.bill));
      dearest = std::max(dearest, step.cost);
    }
    EXPECT_GT(dearest, 1'000);  // what was held to be the best for a while
    EXPECT_LT(steps.back().cost, steps.front().cost);
    EXPECT_TRUE(search.prices().BestIsKnown());
    // The search stays in the largest state unless another one is cheaper by half a percent.
    for (uint32_t i = 0; i < search.prices().num_bills(); ++i) {
      EXPECT_LE(0.995 * steps.back().cost, search.prices().CostOf(search::BillId(i)));
    }
    EXPECT_LE(search.workspace().Cost({}), steps.back().cost);
  }
}

TEST(TensorWorkspace, EachSimulationFirstGivesWayToMeasurements) {
  const Network bert("bert");
  ArrivingModel model(WideProductsAreSlow);
  NetworkSearch search(bert, 2.5, &model);
  search.task().workers = 2;
  model.ArriveAfter(30);
  search.Run();
  EXPECT_GT(model.times_given_way(), 10);
}

// Its best graph by the prior is slow, but all others are in it, too.
TEST(TensorWorkspace, WhatHoldsAllThereIsIsTheAnswerWhateverItCosts) {
  const Network nasrnn("nasrnn");
  ArrivingModel model(
      [](const kernels::KernelSpec& spec) { return spec.op == "Gemm" ? 1'000.0 : 1.0; });
  NetworkSearch search(nasrnn, 3, &model);
  const int64_t start = search.workspace().graph().num_enodes();
  const double start_cost = search.workspace().Cost({});
  model.Arrive();
  const search::Outcome outcome = search.Run();
  EXPECT_EQ(outcome.reason, StopReason::kSaturated);
  EXPECT_GT(search.workspace().graph().num_enodes(), start);
  EXPECT_LE(search.workspace().Cost({}), start_cost);
}

// Once all is measured, costs cannot change, and the answer is a function of the seed again.
TEST(TensorWorkspace, WhereAllIsMeasuredTheNumberOfWorkersMakesNoDifference) {
  const Network bert("bert");
  ArrivingModel model(WideProductsAreSlow);
  model.ArriveAfter(0);
  const auto graph_of = [&](int workers, size_t* requested) {
    const size_t before = model.Requests().size();
    NetworkSearch search(bert, 2.5, &model);
    search.task().workers = workers;
    search.Run();
    *requested = model.Requests().size() - before;
    return search.BestGraph();
  };
  size_t requested = 1;
  std::string graph;
  for (int i = 0; i < 10 && requested > 0; ++i) graph = graph_of(1, &requested);
  ASSERT_EQ(requested, 0u);
  EXPECT_EQ(graph_of(2, &requested), graph);
  EXPECT_EQ(graph_of(8, &requested), graph);
}

TEST(TensorWorkspace, NoKernelIsMeasuredTwiceForTwoJobsOfTwoWorkers) {
  kernels::fake::FakeClock clock;
  absl::Mutex mutex;
  std::map<std::string, int> counts;  // how often each kernel ran for the second time
  const auto backend =
      NewFakeBackend(&clock, {.run_us = [&](const kernels::KernelSpec& spec, int run) {
        const absl::MutexLock lock(&mutex);
        counts[kernels::KernelKey(spec)] += run == 1;
        return absl::StatusOr<double>(kernels::fake::FakeCostUs(spec));
      }});
  const auto store = timing::NewMemoryStore();
  timing::Lane lane;
  const auto service = timing::NewTimingService(
      backend.get(), store.get(), &lane,
      {.make_probe = [&] { return std::make_unique<testing::ClockProbe>(&clock); }});
  const auto model =
      cost::NewMeasuredCostModel(backend.get(), service.get(), cost::Roof{cost::CpuSheet(), 1});
  const Network nasrnn("nasrnn");
  std::vector<std::unique_ptr<NetworkSearch>> jobs;
  for (int i = 0; i < 2; ++i) {
    jobs.push_back(std::make_unique<NetworkSearch>(nasrnn, 1.2, model.get()));
    jobs.back()->task().workers = 2;
    jobs.back()->task().seed = i;
  }
  std::thread other([&] { jobs[1]->Run(); });
  jobs[0]->Run();
  other.join();
  service->Wait({});
  const absl::MutexLock lock(&mutex);
  EXPECT_GT(counts.size(), 5u);
  EXPECT_THAT(counts, Each(Pair(::testing::_, 1)));
  EXPECT_EQ(service->measurements(), static_cast<int64_t>(counts.size()));
}

}  // namespace
}  // namespace quotient::pricing
