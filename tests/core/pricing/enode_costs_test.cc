#include "core/pricing/enode_costs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/status_macros.h"
#include "core/extract/extract.h"
#include "core/kernels/attention.h"
#include "core/kernels/fusion.h"
#include "core/kernels/partition.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/prepared.h"
#include "tests/support/graphs.h"
#include "tests/support/networks/networks.h"
#include "tests/support/status_matchers.h"

namespace quotient::pricing {
namespace {

// Every kernel takes a microsecond; remembers which it was asked about.
class RecordingModel final : public cost::CostModel {
 public:
  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    asked.push_back(spec);
    return {1, 0, cost::CostSource::kModel};
  }
  cost::KernelCost Prior(const kernels::KernelSpec& spec) override { return Estimate(spec); }
  void Request(const kernels::KernelSpec&) override {}
  int64_t measurements() const override { return 0; }
  void Wait(const StopCondition&) override {}
  const kernels::PartitionOptions& partition() const override { return partition_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  bool measures() const override { return false; }

  std::vector<kernels::KernelSpec> asked;

 private:
  const std::string fingerprint_ = "recording";
  const kernels::PartitionOptions partition_;
};

absl::StatusOr<domain::TensorEGraph> TensorsOf(absl::string_view text) {
  model::Graph graph = testing::MustParse(text);
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(graph));
  return domain::FromGraph(graph, graph);
}

// The kernel that a search prices is the one that runs: a square is no general power.
TEST(ENodeCosts, APowIsPricedWithItsExponent) {
  ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, TensorsOf(R"(graph g {
    input x: float32[2,3]
    const two: float32[] = [2]
    y = Pow(x, two)
    output y
  })"));
  RecordingModel model;
  KernelPrices prices(&model);
  const ENodeCosts costs(tensors, &prices, 0);
  ASSERT_EQ(model.asked.size(), 1);
  EXPECT_EQ(model.asked[0].attributes.GetFloat(kernels::kExponentAttribute, 0), 2);
}

// The e-nodes that stand for nodes of the original, which are the oldest ones.
std::vector<egraph::ENodeId> Original(const domain::TensorEGraph& tensors) {
  std::vector<egraph::ENodeId> nodes;
  for (uint32_t i = 0; i < tensors.original_of_enode.size(); ++i) {
    if (tensors.original_of_enode[i].node.valid()) nodes.push_back(egraph::ENodeId(i));
  }
  return nodes;
}

// Two of four columns' Slices, and one that overlaps with both.
TEST(ENodeCosts, SlicesAreAsCheapAsTheirSplit) {
  ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, TensorsOf(R"(graph g {
    input x: float32[4,8]
    a = Slice(x) {starts=[0], ends=[2], axes=[1]}
    b = Slice(x) {starts=[2], ends=[4], axes=[1]}
    c = Slice(x) {starts=[1], ends=[7], axes=[1]}
    output a, b, c
  })"));
  RecordingModel model;
  KernelPrices prices(&model);
  ENodeCosts costs(tensors, &prices, 0);
  const std::vector<egraph::ENodeId> nodes = Original(tensors);
  ASSERT_EQ(nodes.size(), 3);
  ASSERT_EQ(costs.SharedKernels().size(), 1);
  EXPECT_EQ(costs.SharedKernels()[0].members, std::vector(nodes.begin(), nodes.begin() + 2));
  EXPECT_EQ(costs.SharedKernels()[0].cost, 1);
  EXPECT_EQ(model.asked.back().op, "Split");
  EXPECT_EQ(model.asked.back().attributes.GetInts("split"), (model::Ints{2, 2, 4}));

  ASSERT_EQ(costs.SplitsAmong(nodes).size(), 1);
  EXPECT_EQ(costs.SplitsAmong(nodes)[0].parts.size(), 2);
  EXPECT_TRUE(costs.SplitsAmong(std::span(nodes).subspan(1)).empty());
  EXPECT_EQ(costs.Request(std::span(nodes).subspan(1)), 2);
  EXPECT_EQ(costs.Request(nodes), 2);  // the third Slice, and the Split
}

// A view costs an operator, too. What folds, and a leaf, is none that a model still has.
TEST(ENodeCosts, OperatorsMayCostSomethingBesideTheirKernels) {
  ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, TensorsOf(R"(graph g {
    input x: float32[4,8]
    const c: float32[8] = random(1)
    flat = Reshape(x) {shape=[32]}
    y = Relu(flat)
    d = Neg(c)
    z = Add(x, d)
    output y, z
  })"));
  RecordingModel model;
  KernelPrices prices(&model);
  const ENodeCosts costs(tensors, &prices, 0, /*operator_us=*/100);
  std::vector<double> of_nodes;
  for (const egraph::ENodeId node : Original(tensors)) of_nodes.push_back(costs.Cost(node));
  EXPECT_EQ(of_nodes, (std::vector<double>{100, 101, 0, 101}));
  for (const extract::Fusion& fusion : costs.Fusions()) EXPECT_LE(fusion.saving, 1);
}

// Weights are computed once, but where that takes too long whoever runs the model does it, and
// what depends on it.
TEST(ENodeCosts, ProductsOfWeightsAreFreeIfTheyFold) {
  ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, TensorsOf(R"(graph g {
    input x: float32[4,2048]
    const a: float32[2048,2048] = random(1)
    const b: float32[2048,2049] = random(2)
    const c: float32[2048,64] = random(3)
    large = MatMul(a, b)
    small = MatMul(a, c)
    y = MatMul(x, large)
    z = MatMul(x, small)
    behind = Neg(large)
    t = MatMul(x, behind)
    output y, z, t
  })"));
  RecordingModel model;
  KernelPrices prices(&model);
  const ENodeCosts costs(tensors, &prices, 0);
  std::vector<double> of_nodes;
  for (const egraph::ENodeId node : Original(tensors)) of_nodes.push_back(costs.Cost(node));
  EXPECT_EQ(of_nodes, (std::vector<double>{1, 0, 1, 1, 1, 1}));
}

// What a search believes of the original is what the graph is predicted to cost: epilogues, layouts
// and Splits included.
TEST(ENodeCosts, TheOriginalCostsWhatItsGraphIsPredictedToCost) {
  ASSERT_OK_AND_ASSIGN(const auto model, cost::NewAnalyticCostModel("model:h200"));
  for (const char* const name :
       {"bert", "inception_v3", "mobilenet_v2", "nasrnn", "resnet50", "squeezenet"}) {
    SCOPED_TRACE(name);
    const auto network = networks::MakeNetwork(name, {.variant = networks::Variant::kPaper});
    const std::string bytes = network->SerializeAsString();
    optimize::ModelFiles files;
    files.model = bytes;
    ASSERT_OK_AND_ASSIGN(const optimize::Prepared original,
                         optimize::Prepare(files, optimize::Options(), 1, StopCondition()));
    ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors,
                         domain::FromGraph(original.graph, original.measured));
    KernelPrices prices(model.get());
    const ENodeCosts costs(
        tensors, &prices,
        kernels::ConstantFootprintLog2(original.cut.graph, model->partition().storage));
    const std::vector<egraph::ClassId> roots = tensors.CanonicalRoots();
    // There is but one e-node per class.
    const auto only = extract::FindExtractor("dag")->Extract({*tensors.egraph, costs, roots}, {});
    ASSERT_OK(only.status());
    ASSERT_OK_AND_ASSIGN(const cost::GraphCost predicted,
                         cost::PredictGraph(original.cut.graph, *model, StopCondition()));
    EXPECT_NEAR(only->cost, predicted.total_us, 0.01 * predicted.total_us);
  }
}

// As `model`, of a device where attention is one kernel.
class WithAttention final : public cost::CostModel {
 public:
  explicit WithAttention(cost::CostModel* model) : model_(*model), partition_(model->partition()) {
    partition_.fuses_attention = true;
  }
  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    return model_.Estimate(spec);
  }
  cost::KernelCost Prior(const kernels::KernelSpec& spec) override { return model_.Prior(spec); }
  void Request(const kernels::KernelSpec& spec) override { model_.Request(spec); }
  int64_t measurements() const override { return model_.measurements(); }
  void Wait(const StopCondition& stop) override { model_.Wait(stop); }
  const kernels::PartitionOptions& partition() const override { return partition_; }
  const std::string& fingerprint() const override { return model_.fingerprint(); }
  bool measures() const override { return model_.measures(); }

 private:
  cost::CostModel& model_;
  kernels::PartitionOptions partition_;
};

// The kernels of the graph, and what it costs by itself and as a sum over its e-nodes.
struct TwoCosts {
  std::vector<std::string> kernels;
  double predicted;
  double of_enodes;
};
absl::StatusOr<TwoCosts> CostsOf(const model::Graph& graph, cost::CostModel& model) {
  QUOTIENT_ASSIGN_OR_RETURN(const domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
  KernelPrices prices(&model);
  const ENodeCosts costs(tensors, &prices, 0);
  const std::vector<egraph::ClassId> roots = tensors.CanonicalRoots();
  QUOTIENT_ASSIGN_OR_RETURN(
      const extract::Selection only,
      extract::FindExtractor("dag")->Extract({*tensors.egraph, costs, roots}, {}));
  QUOTIENT_ASSIGN_OR_RETURN(const cost::GraphCost predicted,
                            cost::PredictGraph(graph, model, StopCondition()));
  TwoCosts result{.predicted = predicted.total_us, .of_enodes = only.cost};
  for (const kernels::KernelGroup& group : predicted.groups) {
    if (!group.spec.free) result.kernels.push_back(group.spec.op);
  }
  return result;
}

constexpr char kAttention[] = R"(graph g {
  input q: float16[2,12,128,64]
  input k: float16[2,12,64,128]
  input v: float16[2,12,128,64]
  input mask: float16[2,1,1,128]
  const c: float16[] = [8.0]
  s = MatMul(q, k)
  d = Div(s, c)
  m = Add(d, mask)
  p = Softmax(m) {axis=3}
  y = MatMul(p, v)
  output y
})";

TEST(ENodeCosts, AttentionCostsWhatItsOneKernelDoes) {
  ASSERT_OK_AND_ASSIGN(const auto h200, cost::NewAnalyticCostModel("model:h200"));
  WithAttention model(h200.get());
  model::Graph graph = testing::MustParse(kAttention);
  ASSERT_OK(ops::InferTypes(graph));
  ASSERT_OK_AND_ASSIGN(const TwoCosts costs, CostsOf(graph, model));
  EXPECT_EQ(costs.kernels, std::vector<std::string>{kernels::kAttentionOp});
  EXPECT_NEAR(costs.of_enodes, costs.predicted, 0.01 * costs.predicted);
  ASSERT_OK_AND_ASSIGN(const TwoCosts apart, CostsOf(graph, *h200));
  EXPECT_GT(apart.of_enodes, 2 * costs.of_enodes);
}

TEST(ENodeCosts, AttentionSavesNothingWhereSomebodyElseWantsAPartOfIt) {
  ASSERT_OK_AND_ASSIGN(const auto h200, cost::NewAnalyticCostModel("model:h200"));
  WithAttention model(h200.get());
  for (const char* output : {"s", "m", "p"}) {
    model::Graph graph = testing::MustParse(kAttention);
    graph.outputs.push_back(testing::MustFind(graph, output));
    ASSERT_OK(ops::InferTypes(graph));
    ASSERT_OK_AND_ASSIGN(const TwoCosts costs, CostsOf(graph, model));
    ASSERT_OK_AND_ASSIGN(const TwoCosts apart, CostsOf(graph, *h200));
    EXPECT_GT(costs.kernels.size(), 1u) << output;
    EXPECT_DOUBLE_EQ(costs.of_enodes, apart.of_enodes) << output;
  }
}

// All kernels cost the same, so that what pairs save has to be shared out.
TEST(ENodeCosts, AttentionSavesNoMoreThanItsENodesCost) {
  ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, TensorsOf(R"(graph g {
    input q: float32[2,5,4,8]
    input k: float32[2,6,4,8]
    input v: float32[2,6,4,8]
    a = Transpose(q) {perm=[0,2,1,3]}
    b = Transpose(k) {perm=[0,2,3,1]}
    c = Transpose(v) {perm=[0,2,1,3]}
    s = MatMul(a, b)
    p = Softmax(s) {axis=3}
    o = MatMul(p, c)
    y = Transpose(o) {perm=[0,2,1,3]}
    output y
  })"));
  RecordingModel plain;
  WithAttention model(&plain);
  KernelPrices prices(&model);
  const ENodeCosts costs(tensors, &prices, 0);
  const std::vector<egraph::ClassId> roots = tensors.CanonicalRoots();
  for (const char* const extractor : {"tree", "dag", "exact"}) {
    const auto only =
        extract::FindExtractor(extractor)->Extract({*tensors.egraph, costs, roots}, {});
    ASSERT_OK(only.status());
    EXPECT_DOUBLE_EQ(only->cost, 1 + 4) << extractor;  // the attention, and four Transposes
    EXPECT_LE(only->lower_bound, only->cost) << extractor;
  }
}

TEST(ENodeCosts, AttentionIsMeasuredWithAllOfItsENodes) {
  ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, TensorsOf(R"(graph g {
    input q: float32[2,5,4]
    input k: float32[2,4,6]
    input v: float32[2,6,4]
    s = MatMul(q, k)
    p = Softmax(s) {axis=2}
    y = MatMul(p, v)
    output y
  })"));
  RecordingModel plain;
  WithAttention model(&plain);
  KernelPrices prices(&model);
  ENodeCosts costs(tensors, &prices, 0);
  const std::vector<egraph::ENodeId> nodes = Original(tensors);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(costs.Request(std::span(nodes).first(2)), 2);
  EXPECT_EQ(costs.Request(nodes), 2);  // the other product, and the attention
}

}  // namespace
}  // namespace quotient::pricing
