#include "core/optimize/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/kernels/fusion.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/variants.h"
#include "core/pricing/tensor_workspace.h"
#include "core/search/strategy.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

// A kernel costs a microsecond, a contraction one more for each element that it writes; all are
// known.
class ByOutput : public cost::CostModel {
 public:
  explicit ByOutput(bool measures) : measures_(measures) {}

  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    if (spec.free) return {0, 0, cost::CostSource::kFree};
    if (!kernels::IsContraction(spec.op)) return {1, 0, cost::CostSource::kMeasured};
    double elements = 0;
    for (const kernels::Operand& output : spec.outputs) {
      double product = 1;
      for (const int64_t dim : output.type.dims()) product *= static_cast<double>(dim);
      elements += product;
    }
    return {elements + 1, 0, cost::CostSource::kMeasured};
  }
  cost::KernelCost Prior(const kernels::KernelSpec& spec) override { return Estimate(spec); }
  void Request(const kernels::KernelSpec&) override {}
  int64_t measurements() const override { return 0; }
  void Wait(const StopCondition&) override {}
  const kernels::PartitionOptions& partition() const override { return partition_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  bool measures() const override { return measures_; }

 private:
  const kernels::PartitionOptions partition_;
  const bool measures_;
  const std::string fingerprint_ = "by output";
};

constexpr SearchTime kAmple = {.grow_seconds = 240, .seconds = 600};

// Two convolutions side by side can be one, and so can the two behind them.
constexpr char kTwins[] = R"(graph g {
    input x: float32[1,1,4,4]
    const v: float32[1,1,1,1] = [1]
    const w: float32[1,1,1,1] = [2]
    const t: float32[1,2,1,1] = [3, 4]
    const u: float32[2,2,1,1] = [5, 6, 7, 8]
    a = Conv(x, v)
    b = Conv(x, w)
    j = Concat(a, b) {axis=1}
    y = Relu(j)
    c = Conv(y, t)
    d = Conv(y, u)
    z = Concat(c, d) {axis=1}
    output z
  })";

absl::StatusOr<Candidates> SearchIn(absl::string_view text, bool measures, int alternatives,
                                    const StopCondition& stop, const SearchHook& hook) {
  model::Graph graph = testing::MustParse(text);
  EXPECT_OK(ops::InferTypes(graph));
  ByOutput costs(measures);
  Options options;
  options.strategy = "saturate";
  const SearchSettings settings = {
      .clock = Clock::System(), .time = kAmple, .max_opset = 20, .alternatives = alternatives};
  return Search(graph, graph, options, settings, costs, stop, hook);
}

std::vector<Candidate> CandidatesOf(bool measures, int alternatives) {
  auto found = SearchIn(kTwins, measures, alternatives, {}, [](const SearchProgress&) {});
  EXPECT_OK(found.status());
  return found.ok() ? std::move(found->found) : std::vector<Candidate>();
}

// Nothing is measured now, and convolutions to three channels were not earlier either: they are
// thought to be cheap, or cannot run.
class ThreeChannelsUnknown final : public ByOutput {
 public:
  explicit ThreeChannelsUnknown(bool unsupported) : ByOutput(false), unsupported_(unsupported) {}

  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    if (spec.op != "Conv" || spec.outputs[0].type.dims()[1] != 3) return ByOutput::Estimate(spec);
    return {0.5, 0, cost::CostSource::kModel, true, unsupported_};
  }
  bool knows_measurements() const override { return true; }

 private:
  const bool unsupported_;
};

// For each candidate, whether it has such a convolution.
std::vector<bool> NeedsUnknown(bool unsupported) {
  model::Graph graph = testing::MustParse(kTwins);
  EXPECT_OK(ops::InferTypes(graph));
  ThreeChannelsUnknown costs(unsupported);
  Options options;
  options.strategy = "saturate";
  const auto found =
      Search(graph, graph, options,
             {.clock = Clock::System(), .time = kAmple, .max_opset = 20, .alternatives = 1}, costs,
             {}, [](const SearchProgress&) {});
  EXPECT_OK(found.status());
  std::vector<bool> needs;
  if (!found.ok()) return needs;
  for (const Candidate& candidate : found->found) {
    needs.push_back(std::ranges::any_of(candidate.graph.nodes, [&](const model::Node& node) {
      return node.op == "Conv" && candidate.graph.value(node.outputs[0]).type.dims()[1] == 3;
    }));
  }
  return needs;
}

TEST(Candidates, OfARecordedDeviceFirstWhatWasMeasuredThenWhatIsEstimated) {
  const std::vector<bool> needs = NeedsUnknown(/*unsupported=*/false);
  ASSERT_GE(needs.size(), 2u);
  EXPECT_FALSE(needs.front());
  EXPECT_TRUE(needs.back());
}

TEST(Candidates, OfARecordedDeviceNothingThatCannotRun) {
  const std::vector<bool> needs = NeedsUnknown(/*unsupported=*/true);
  EXPECT_FALSE(needs.empty());
  EXPECT_EQ(std::ranges::count(needs, true), 0);
}

std::vector<std::string> OpsOf(const model::Graph& graph) {
  std::vector<std::string> ops;
  for (const model::Node& node : graph.nodes) ops.push_back(node.op);
  std::ranges::sort(ops);
  return ops;
}

TEST(Candidates, WhereCostsAreMeasuredTheBestFewRun) {
  const std::vector<Candidate> one = CandidatesOf(true, 1);
  const std::vector<Candidate> three = CandidatesOf(true, 3);
  ASSERT_FALSE(one.empty());
  ASSERT_GT(three.size(), one.size());
  EXPECT_LE(three.size(), static_cast<size_t>(MostCandidates(3)));
  EXPECT_EQ(three[0].cost_us, one[0].cost_us);
  for (size_t i = 1; i < 3 && i < three.size(); ++i) {
    EXPECT_GE(three[i].cost_us, three[0].cost_us);
    EXPECT_LE(three[i].cost_us, three[0].cost_us * 1.05);
    EXPECT_NE(OpsOf(three[i].graph), OpsOf(three[0].graph));
  }
}

TEST(Candidates, WhereMemoryIsScarceThereIsTheBestOneAlone) {
  const std::vector<Candidate> several = CandidatesOf(true, 3);
  const std::vector<Candidate> alone = CandidatesOf(true, 0);
  ASSERT_GT(several.size(), 1u);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].cost_us, several[0].cost_us);
}

// Jobs are admitted by this number: the exact extractor's graph, those of "tree" and of the prior,
// and the alternatives, of which none need be one of the others.
TEST(Candidates, AllThatMayBeAreCounted) {
  EXPECT_EQ(MostCandidates(0), 1);
  EXPECT_EQ(MostCandidates(1), 3);
  EXPECT_EQ(MostCandidates(2), 5);
}

// What is hardly faster than the original takes long to measure, and is not.
TEST(Candidates, AlternativesKeepHalfOfTheGain) {
  const std::vector<Candidate> found = CandidatesOf(true, 8);
  ASSERT_GT(found.size(), 1u);
  constexpr double kOriginalUs = 17 + 17 + 1 + 1 + 17 + 33 + 1;
  for (const Candidate& each : found) {
    EXPECT_LE(each.cost_us, (found[0].cost_us + kOriginalUs) / 2);
  }
}

TEST(Candidates, AModelsOwnBestIsEnoughWhereNothingIsMeasured) {
  EXPECT_EQ(CandidatesOf(false, 3).size(), CandidatesOf(false, 1).size());
}

// What dag finds in the e-graph that SearchIn makes.
double QuickCost(absl::string_view text) {
  model::Graph graph = testing::MustParse(text);
  EXPECT_OK(ops::InferTypes(graph));
  ByOutput model(false);
  pricing::KernelPrices prices(&model);
  const auto workspace = pricing::TensorWorkspace::Make(graph, graph, {.max_opset = 20}, &prices);
  EXPECT_OK(workspace.status());
  EXPECT_OK(
      search::FindStrategy("saturate")->Run(**workspace, {.clock = Clock::System()}).status());
  return (*workspace)->Cost({});
}

// By the product of the weights p costs the same, but leaves the factor b to a single reader, which
// then runs behind it. A search that goes nowhere but to what is better does not come there.
TEST(Candidates, TheAnswerIsExactWhereTheQuickOneIsNot) {
  constexpr char kStep[] = R"(graph g {
    input x: float32[4,4]
    input y: float32[4,4]
    const v: float32[4,4] = random(1)
    const w: float32[4,4] = random(2)
    q = MatMul(x, y)
    r = MatMul(y, v)
    a = Add(r, q)
    b = MatMul(a, v)
    p = MatMul(b, w)
    s = Add(b, a)
    output p, s
  })";
  ASSERT_EQ(QuickCost(kStep), 69) << "dag finds it now: another graph is needed";
  const auto found = SearchIn(kStep, false, 1, {}, [](const SearchProgress&) {});
  ASSERT_OK(found.status());
  ASSERT_FALSE(found->found.empty());
  EXPECT_EQ(found->found.front().cost_us, 68);
  ASSERT_EQ(found->found.front().journal.size(), 1u);
}

// In the original, too, an epilogue costs next to nothing.
TEST(Candidates, ProgressIsAShareOfTheOriginalAsItRuns) {
  constexpr char kNothingToGain[] = R"(graph g {
    input x: float32[1,1,4,4]
    const v: float32[1,1,1,1] = [1]
    a = Conv(x, v)
    y = Relu(a)
    output y
  })";
  for (const bool measures : {false, true}) {
    double share = 0;
    const auto note = [&share](const SearchProgress& now) { share = now.best_share; };
    ASSERT_OK(SearchIn(kNothingToGain, measures, 1, {}, note).status());
    EXPECT_EQ(share, 1);
  }
}

TEST(Candidates, ProgressEndsWithWhatTheReportSays) {
  double share = 0;
  const auto note = [&share](const SearchProgress& now) { share = now.best_share; };
  for (const bool measures : {false, true}) {
    const auto found = SearchIn(kTwins, measures, 1, {}, note);
    ASSERT_OK(found.status());
    const std::vector<report::SearchStep>& steps = found->figures.best_costs;
    ASSERT_GE(steps.size(), 2u);
    EXPECT_LT(share, 1);
    EXPECT_EQ(share, steps.back().cost_us / steps.front().cost_us);
  }
}

// Wherever it runs, and whoever helps.
TEST(Candidates, ASearchEndsAfterItsSimulations) {
  // Products in a row can be formed in any order: more ways than there is room for.
  model::Graph graph = testing::MustParse(R"(graph g {
    input x: float32[8,16]
    const a: float32[16,24] = random(1)
    const b: float32[24,4] = random(2)
    const c: float32[4,40] = random(3)
    const d: float32[40,8] = random(4)
    const e: float32[8,32] = random(5)
    const f: float32[32,12] = random(6)
    xa = MatMul(x, a)
    xb = MatMul(xa, b)
    xc = MatMul(xb, c)
    xd = MatMul(xc, d)
    xe = MatMul(xd, e)
    y = MatMul(xe, f)
    output y
  })");
  ASSERT_OK(ops::InferTypes(graph));
  ASSERT_OK_AND_ASSIGN(const auto costs, cost::NewAnalyticCostModel("model:h200"));
  Options options;
  options.max_nodes = 40;
  options.max_simulations = 50;
  std::vector<Digest> found;
  std::vector<int64_t> simulations;
  for (const int threads : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(
        const Candidates result,
        Search(graph, graph, options,
               {.clock = Clock::System(), .time = kAmple, .threads = threads, .max_opset = 20},
               *costs, {}, [](const SearchProgress&) {}));
    simulations.push_back(result.figures.simulations);
    EXPECT_GE(simulations.back(), options.max_simulations);
    EXPECT_LT(simulations.back(), 2 * options.max_simulations);
    EXPECT_EQ(result.figures.stop_reason, StopReasonName(StopReason::kIterations));
    ASSERT_FALSE(result.found.empty());
    found.push_back(model::GraphDigest(result.found.front().graph));
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(simulations[0], simulations[1]);
}

// A graph of two parts, each of which a rule of its own improves: two convolutions become one, and
// the products of a row are formed in another order.
constexpr char kTwoParts[] = R"(graph g {
    input x: float32[1,1,4,4]
    input m: float32[64,2]
    const v: float32[1,1,1,1] = [1]
    const w: float32[1,1,1,1] = [2]
    const p: float32[2,64] = random(1)
    const q: float32[64,2] = random(2)
    a = Conv(x, v)
    b = Conv(x, w)
    y = Concat(a, b) {axis=1}
    n = MatMul(m, p)
    z = MatMul(n, q)
    output y, z
  })";

TEST(Variants, LeaveOneFamilyOutAndKeepTheOthers) {
  model::Graph graph = testing::MustParse(kTwoParts);
  ASSERT_OK(ops::InferTypes(graph));
  ByOutput costs(true);
  Options options;
  options.strategy = "saturate";
  ASSERT_OK_AND_ASSIGN(
      const Candidates found,
      Search(graph, graph, options,
             {.clock = Clock::System(), .time = kAmple, .max_opset = 20, .alternatives = 1}, costs,
             {}, [](const SearchProgress&) {}));
  ASSERT_NE(found.variants, nullptr);
  ASSERT_FALSE(found.found.empty());
  const Candidate& whole = found.found.front();
  const std::vector<RewriteFamily> families = found.variants->FamiliesOf(0);
  ASSERT_GE(families.size(), 2u);
  std::vector<size_t> all;
  for (size_t i = 0; i < families.size(); ++i) {
    all.push_back(i);
    EXPECT_LE(families[i].saving_us, families.front().saving_us);
    const std::vector<size_t> one = {i};
    ASSERT_OK_AND_ASSIGN(const std::optional<Candidate> variant, found.variants->Without(0, one));
    if (!variant.has_value()) continue;
    EXPECT_NEAR(variant->cost_us, whole.cost_us + families[i].saving_us, 1e-9);
    EXPECT_EQ(variant->left_out, std::vector<std::string>{families[i].name});
    EXPECT_LT(variant->journal.size(), whole.journal.size());
    EXPECT_FALSE(variant->journal.empty()) << "the other part stays improved";
    ASSERT_OK_AND_ASSIGN(const std::optional<Candidate> again, found.variants->Without(0, one));
    EXPECT_FALSE(again.has_value()) << "it was made before";
  }
  ASSERT_OK_AND_ASSIGN(const std::optional<Candidate> none, found.variants->Without(0, all));
  EXPECT_FALSE(none.has_value()) << "that is the original";
}

TEST(Variants, ThereAreNoneWhereNothingIsMeasured) {
  const auto found = SearchIn(kTwins, false, 1, {}, [](const SearchProgress&) {});
  ASSERT_OK(found.status());
  EXPECT_EQ(found->variants, nullptr);
}

TEST(Candidates, WhoCancelsWantsNoAnswerWheneverThatIs) {
  int reports = 0;
  ASSERT_OK(SearchIn(kTwins, false, 1, {}, [&](const SearchProgress&) { ++reports; }).status());
  ASSERT_GT(reports, 1);
  for (int last = 1; last <= reports; ++last) {
    CancelToken token;
    int left = last;
    const auto cancel = [&](const SearchProgress&) {
      if (--left == 0) token.Cancel();
    };
    EXPECT_THAT(SearchIn(kTwins, false, 1, StopCondition(&token), cancel),
                testing::HasReason(Reason::kCancelled))
        << last;
  }
}

}  // namespace
}  // namespace quotient::optimize
