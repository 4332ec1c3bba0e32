// Which nodes run as one kernel, in which layout, and what is free: golden text.

#include "core/kernels/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/reason.h"
#include "core/kernels/attention.h"
#include "core/kernels/layout.h"
#include "core/kernels/ort_fusions.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

using quotient::testing::HasReason;

// One line per kernel: "Conv+Relu x:last -> y:last", "free Reshape ...".
std::string Describe(const model::Graph& graph, const PartitionOptions& options = {}) {
  const auto groups = PartitionGraph(graph, options);
  EXPECT_TRUE(groups.ok()) << groups.status();
  std::string text;
  for (const KernelGroup& group : *groups) {
    const std::vector<Operand> operands = AllOperands(group.spec);
    absl::StrAppend(&text, group.spec.free ? "free " : "", group.spec.op);
    for (const Epilogue& epilogue : group.spec.epilogue) absl::StrAppend(&text, "+", epilogue.op);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!group.operands[i].valid()) continue;
      absl::StrAppend(&text, " ", graph.value(group.operands[i]).name,
                      operands[i].layout == Layout::kChannelsLast ? ":last" : "");
    }
    text += " ->";
    for (size_t i = 0; i < group.results.size(); ++i) {
      absl::StrAppend(&text, " ", graph.value(group.results[i]).name,
                      group.spec.outputs[i].layout == Layout::kChannelsLast ? ":last" : "");
    }
    text += "\n";
  }
  return text;
}

std::string DescribeCase(const std::string& name) { return Describe(GraphOf(FindGraphCase(name))); }

TEST(PartitionTest, FusesElementwiseNodesBehindContractions) {
  EXPECT_EQ(DescribeCase("conv_bias_relu"), "Conv+Relu x:last w b -> y:last\n");
  EXPECT_EQ(DescribeCase("conv_batch_norm"),
            "Conv+BatchNormalization+Relu x:last w scale bias mean variance -> y:last\n");
  EXPECT_EQ(DescribeCase("matmul_bias_gelu_residual"), "MatMul+Add+Gelu+Add x w b r -> y\n");
  EXPECT_EQ(DescribeCase("activations_behind_products"),
            "MatMul+Elu+Mish x w -> c\n"
            "MatMul+Softplus+Swish c v -> f\n"
            "Sinh f -> g\n");
}

TEST(PartitionTest, ResidualsJoinTheFirstConvolutionThatCanTakeThem) {
  EXPECT_EQ(DescribeCase("residual_block"),
            "Conv+Relu x:last w1 b -> r:last\n"
            "Conv+Add+Relu r:last w2 b x:last -> y:last\n");
  EXPECT_EQ(DescribeCase("residual_with_shortcut"),
            "Conv x:last w2 -> c:last\n"
            "Conv+Add+Relu x:last w1 c:last -> y:last\n");
}

TEST(PartitionTest, ValueWithTwoReadersEndsAChain) {
  EXPECT_EQ(DescribeCase("silu_after_conv"),
            "Conv x:last w -> c:last\n"
            "Sigmoid+Mul c:last c:last -> y:last\n");
  // The graph's outputs are such values too.
  EXPECT_EQ(DescribeCase("batch_norm_alone"),
            "BatchNormalization x:last scale bias mean variance -> n:last\n"
            "Relu n:last -> r:last\n"
            "Conv r:last w -> y:last\n");
}

TEST(PartitionTest, NodeThatReadsTheRunningValueTwiceIsNotFused) {
  EXPECT_EQ(DescribeCase("reads_value_twice"),
            "Exp x -> a\n"
            "Mul+Add a a x -> c\n");
}

TEST(PartitionTest, ChannelsLastHoldsFromConvolutionToConvolution) {
  EXPECT_EQ(DescribeCase("inception_concat"),
            "Conv x:last w1 -> a:last\n"
            "Conv x:last w2 -> b:last\n"
            "AveragePool x:last -> p:last\n"
            "Concat a:last b:last p:last -> c:last\n"
            "Relu c:last -> y:last\n"
            "Split y:last -> u:last v:last\n");
}

TEST(PartitionTest, TransposesBetweenLayoutsAreFree) {
  EXPECT_EQ(DescribeCase("convnext_block"),
            "Conv x:last dw -> c:last\n"
            "free Transpose c:last -> t\n"
            "LayerNormalization t g b -> n\n"
            "MatMul+Gelu n w1 -> a\n"
            "MatMul a w2 -> o\n"
            "free Transpose o -> u:last\n"
            "Mul+Add layer_scale u:last x:last -> y:last\n");
}

TEST(PartitionTest, LayoutsThatMeetAreReordered) {
  EXPECT_EQ(DescribeCase("channel_shuffle"),
            "Conv x:last w -> c:last\n"
            "Reorder c:last -> c\n"
            "free Reshape c -> r\n"
            "Transpose r -> t\n"
            "free Reshape t -> s\n"
            "Reorder s -> s:last\n"
            "Split s:last -> a:last b:last\n"
            "Conv a:last w2 -> d:last\n"
            "Concat d:last b:last -> y:last\n");
}

TEST(PartitionTest, ViewsAreFreeAndCopiesAreNot) {
  EXPECT_EQ(DescribeCase("slices"),
            "free Slice x -> a\n"
            "Slice x -> b\n"
            "Slice x -> c\n"
            "Relu a -> d\n");
}

TEST(PartitionTest, PlainEverywhereIfTheDeviceWantsIt) {
  const model::Graph graph = GraphOf(FindGraphCase("conv_first_layer"));
  EXPECT_EQ(Describe(graph, {.channels_last = false}), "Conv x w -> c\nMaxPool c -> m\n");
}

TEST(PartitionTest, AttentionIsOneKernelWithTheTransposesAroundIt) {
  const model::Graph graph = GraphOf(FindGraphCase("attention"));
  const std::string text = Describe(graph, {.fuses_attention = true});
  EXPECT_EQ(text,
            "MatMul x wq -> q\n"
            "MatMul x wk -> k\n"
            "MatMul x wv -> v\n"
            "free Reshape q -> q4\n"
            "free Reshape k -> k4\n"
            "free Reshape v -> v4\n"
            "FusedAttention q4 k4 v4 mask -> ot\n"
            "free Reshape ot -> y\n");
}

// The one Attention kernel of a graph of those lines; none if there is none.
std::optional<KernelSpec> AttentionOf(const std::string& lines) {
  const model::Graph graph = GraphOf({"attention", lines + "\noutput y\n"});
  const auto groups = PartitionGraph(graph, {.fuses_attention = true});
  EXPECT_TRUE(groups.ok()) << groups.status();
  for (const KernelGroup& group : *groups) {
    if (group.spec.op == kAttentionOp) return group.spec;
  }
  return std::nullopt;
}

constexpr char kHeads[] =
    "input q: float32[2,3,5,4]\ninput k: float32[2,3,4,6]\ninput v: float32[2,3,6,7]\n";

TEST(PartitionTest, AttentionOfManyForms) {
  const struct {
    const char* lines;
    const char* attributes;
    size_t inputs;
  } kForms[] = {
      {"s = MatMul(q, k)\np = Softmax(s) {axis=3}\ny = MatMul(p, v)", "", 3},
      {"const c: float32[] = [4.0]\ns = MatMul(q, k)\nd = Div(s, c)\n"
       "p = Softmax(d) {axis=-1}\ny = MatMul(p, v)",
       "{scale=0.25}", 3},
      {"const c: float32[1] = [0.5]\ninput m: float32[2,1,1,6]\ns = MatMul(q, k)\n"
       "d = Mul(c, s)\na = Add(m, d)\np = Softmax(a) {axis=-1}\ny = MatMul(p, v)",
       "{scale=0.5}", 4},
      {"input m: float32[6]\ns = MatMul(q, k)\na = Add(s, m)\np = Softmax(a) {axis=-1}\n"
       "o = MatMul(p, v)\ny = Transpose(o) {perm=[0,2,1,3]}",
       "{y_perm=[0,2,1,3]}", 4},
  };
  for (const auto& [lines, attributes, inputs] : kForms) {
    const std::optional<KernelSpec> spec = AttentionOf(std::string(kHeads) + lines);
    ASSERT_TRUE(spec.has_value()) << lines;
    EXPECT_EQ(ToString(spec->attributes), attributes) << lines;
    EXPECT_EQ(spec->inputs.size(), inputs) << lines;
  }
}

TEST(PartitionTest, WhatOnlyLooksLikeAttention) {
  for (const char* lines : {
           // A softmax along another axis.
           "s = MatMul(q, k)\np = Softmax(s) {axis=2}\ny = MatMul(p, v)",
           // Scores, or weights, that somebody else wants.
           "s = MatMul(q, k)\np = Softmax(s) {axis=3}\ny = MatMul(p, v)\noutput s",
           "s = MatMul(q, k)\np = Softmax(s) {axis=3}\ny = MatMul(p, v)\nz = Relu(p)\noutput z",
           // Weights on the right.
           "input w: float32[2,3,6,5]\ns = MatMul(q, k)\np = Softmax(s) {axis=3}\n"
           "y = MatMul(w, p)",
           // A scale behind the mask, one that is no number, and one that is not finite.
           "const c: float32[] = [4.0]\ninput m: float32[6]\ns = MatMul(q, k)\na = Add(s, m)\n"
           "d = Mul(a, c)\np = Softmax(d) {axis=3}\ny = MatMul(p, v)",
           "input c: float32[]\ns = MatMul(q, k)\nd = Mul(s, c)\np = Softmax(d) {axis=3}\n"
           "y = MatMul(p, v)",
           "const c: float32[] = [0.0]\ns = MatMul(q, k)\nd = Div(s, c)\n"
           "p = Softmax(d) {axis=3}\ny = MatMul(p, v)",
           "const c: float32[] = [1e-40]\ns = MatMul(q, k)\nd = Div(s, c)\n"
           "p = Softmax(d) {axis=3}\ny = MatMul(p, v)",
           // One matrix of values for all heads.
           "input w: float32[6,7]\ns = MatMul(q, k)\np = Softmax(s) {axis=3}\ny = MatMul(p, w)",
       }) {
    EXPECT_FALSE(AttentionOf(std::string(kHeads) + lines).has_value()) << lines;
  }
}

// One that has no more than a Transpose in common with the one before is found without it.
TEST(PartitionTest, ATransposeIsPartOfOneAttention) {
  const model::Graph graph =
      GraphOf({"two",
               "input q: float32[3,5,4]\ninput k: float32[3,4,6]\ninput v: float32[3,6,7]\n"
               "input l: float32[3,5,9]\ninput w: float32[3,9,2]\ns = MatMul(q, k)\n"
               "p = Softmax(s) {axis=2}\no = MatMul(p, v)\nt = Transpose(o) {perm=[0,2,1]}\n"
               "r = MatMul(t, l)\nu = Softmax(r) {axis=2}\ny = MatMul(u, w)\noutput y\n"});
  EXPECT_EQ(Describe(graph, {.fuses_attention = true}),
            "FusedAttention q k v -> t\nFusedAttention t l w -> y\n");
}

// A mask of as many axes that spreads the scores, not the other way round.
TEST(PartitionTest, AMaskThatMakesTheScoresLargerIsNoPartOfAttention) {
  const auto masked = [](const char* mask) {
    return AttentionOf(
        absl::StrCat("input q: float32[1,3,5,4]\ninput k: float32[1,3,4,6]\n"
                     "input v: float32[1,3,6,7]\ninput m: float32[",
                     mask,
                     "]\ns = MatMul(q, k)\na = Add(s, m)\n"
                     "p = Softmax(a) {axis=3}\ny = MatMul(p, v)"));
  };
  EXPECT_TRUE(masked("1,3,5,6").has_value());
  EXPECT_FALSE(masked("2,3,5,6").has_value());
}

TEST(PartitionTest, AttentionIsOfFloatsThatGpusMultiplyAndOfSomething) {
  const auto with = [](const char* type, const char* size) {
    return AttentionOf(absl::StrReplaceAll(
        "input q: TYPE[3,5,SIZE]\ninput k: TYPE[3,SIZE,6]\ninput v: TYPE[3,6,7]\n"
        "s = MatMul(q, k)\np = Softmax(s) {axis=2}\ny = MatMul(p, v)",
        {{"TYPE", type}, {"SIZE", size}}));
  };
  EXPECT_TRUE(with("float32", "4").has_value());
  EXPECT_FALSE(with("float64", "4").has_value());
  EXPECT_FALSE(with("float32", "0").has_value());
}

// What stands behind an opaque node has no rank to ask for.
TEST(PartitionTest, AttentionOfScoresOfUnknownShapeIsLeftOut) {
  for (const char* lines : {
           "s: float32[*] = Opaque \"com.acme.Mystery\" (q)\np = Softmax(s) {axis=-1}\n"
           "y = MatMul(p, v)",
           "u: float32[*] = Opaque \"com.acme.Mystery\" (q)\ns = MatMul(u, k)\n"
           "p = Softmax(s) {axis=-1}\ny = MatMul(p, v)",
           "s = MatMul(q, k)\nm: float32[*] = Opaque \"com.acme.Mystery\" (q)\na = Add(s, m)\n"
           "p = Softmax(a) {axis=-1}\ny = MatMul(p, v)",
           "s = MatMul(q, k)\np = Softmax(s) {axis=-1}\n"
           "u: float32[*] = Opaque \"com.acme.Mystery\" (v)\ny = MatMul(p, u)",
       }) {
    EXPECT_FALSE(AttentionOf(std::string(kHeads) + lines).has_value()) << lines;
  }
}

// The weighted values of one are the scores of the next.
TEST(PartitionTest, AProductIsPartOfOneAttention) {
  const std::optional<KernelSpec> spec = AttentionOf(
      "input q: float32[3,5,4]\ninput k: float32[3,4,6]\ninput v: float32[3,6,7]\n"
      "input w: float32[3,7,2]\ns = MatMul(q, k)\np = Softmax(s) {axis=2}\nr = MatMul(p, v)\n"
      "t = Softmax(r) {axis=2}\ny = MatMul(t, w)");
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->outputs[0].type.dims(), (std::vector<int64_t>{3, 5, 7}));
}

TEST(PartitionTest, OpaqueNodesCutTheGraph) {
  const model::Graph graph = GraphOf(FindGraphCase("opaque_of_unknown_shape"));
  EXPECT_EQ(Describe(graph), "Conv x:last w -> a:last\nRelu a:last -> y:last\n");
  ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, {}));
  const GraphBorder border = FindBorder(graph, groups);
  ASSERT_EQ(border.inputs.size(), 1u);
  EXPECT_EQ(graph.value(border.inputs[0]).name, "x");
  ASSERT_EQ(border.outputs.size(), 2u);  // c is not computed
  EXPECT_EQ(graph.value(border.outputs[0]).name, "y");
  EXPECT_EQ(graph.value(border.outputs[1]).name, "a");
}

TEST(PartitionTest, SymbolicShapeIsAnErrorWithTheNodesName) {
  const model::Graph graph =
      GraphOf({"symbol", "input x: float32[N,4]\ny = Relu(x) @first\noutput y\n"});
  EXPECT_THAT(PartitionGraph(graph, {}),
              HasReason(Reason::kShapeMissing, ::testing::HasSubstr("'first'")));
}

// Whatever the graph: every live node that runs is in exactly one kernel, operands are made before
// they are read in the very layout, and equal keys mean equal specs.
void ExpectCovered(const model::Graph& graph, const PartitionOptions& options) {
  ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, options));
  const GraphBorder border = FindBorder(graph, groups);
  const std::set<model::ValueId> given(border.inputs.begin(), border.inputs.end());
  std::set<model::NodeId> seen;
  std::set<std::pair<model::ValueId, Layout>> made;
  std::map<std::string, KernelSpec> by_key;
  for (const KernelGroup& group : groups) {
    for (model::NodeId id : group.nodes) EXPECT_TRUE(seen.insert(id).second);
    const std::vector<Operand> operands = AllOperands(group.spec);
    ASSERT_EQ(operands.size(), group.operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      const model::ValueId id = group.operands[i];
      if (!id.valid() || operands[i].constant || given.count(id) > 0) continue;
      EXPECT_EQ(made.count({id, CanonicalLayout(operands[i].type, operands[i].layout)}), 1u)
          << graph.value(id).name << " for " << KernelKey(group.spec);
    }
    for (size_t i = 0; i < group.results.size(); ++i) {
      const Operand& output = group.spec.outputs[i];
      made.insert({group.results[i], CanonicalLayout(output.type, output.layout)});
    }
    const auto [entry, fresh] = by_key.emplace(KernelKey(group.spec), group.spec);
    EXPECT_TRUE(fresh || entry->second == group.spec) << entry->first;
  }
  const std::vector<bool> live = model::LiveNodes(graph);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(seen.count(model::NodeId(i)) == 1, live[i] && RunsAsKernel(graph, graph.nodes[i]));
  }
}

TEST(PartitionTest, KernelsCoverAllNodesInAnExecutableOrder) {
  for (const GraphCase& test_case : AllGraphCases()) {
    SCOPED_TRACE(test_case.name);
    const model::Graph graph = GraphOf(test_case);
    for (const bool fuses_attention : {false, true}) {
      ExpectCovered(graph, {.threads = 2, .fuses_attention = fuses_attention});
    }
  }
}

// Blocks of 16 channels, as ONNX Runtime has them.
TEST(PartitionTest, ARuntimeFusesAndChangesLayoutsAsItDoes) {
  const model::Graph graph = GraphOf(
      {"runtime",
       "input x: float32[1,16,8,8]\nconst w: float32[16,16,3,3] = random(1)\n"
       "const s: float32[1] = [0.5]\nc = Conv(x, w) {pads=[1,1,1,1]}\nr = Relu(c)\n"
       "m = Mul(r, s)\nd = Conv(m, w) {pads=[1,1,1,1]}\ne = Add(d, r)\ny = Elu(e)\noutput y\n"});
  EXPECT_EQ(Describe(graph, {.runtime = FindRuntimeFusions("onnxruntime/16")}),
            "Reorder x -> x:last\n"
            "Conv+Relu x:last w -> r:last\n"
            "Reorder r:last -> r\n"
            "Mul r s -> m\n"
            "Reorder m -> m:last\n"
            "Conv+Add m:last w r:last -> e:last\n"
            "Reorder e:last -> e\n"
            "Elu e -> y\n");
}

// A node may compute only its second output.
TEST(PartitionTest, ARuntimeRunsNodesWithoutAFirstOutput) {
  const model::Graph graph =
      GraphOf({"runtime",
               "input x: float32[1,16,8,8]\n(_, y) = Split(x) {axis=1, split=[8,8]}\noutput y\n"});
  const auto groups = PartitionGraph(graph, {.runtime = FindRuntimeFusions("onnxruntime/16")});
  ASSERT_OK(groups.status());
  EXPECT_EQ(groups->size(), 1u);
}

}  // namespace
}  // namespace quotient::kernels
