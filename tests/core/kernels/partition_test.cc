// Which nodes run as one kernel, in which layout, and what is free: golden text.

#include "core/kernels/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/kernels/layout.h"
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
TEST(PartitionTest, KernelsCoverAllNodesInAnExecutableOrder) {
  for (const GraphCase& test_case : AllGraphCases()) {
    SCOPED_TRACE(test_case.name);
    const model::Graph graph = GraphOf(test_case);
    ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, {.threads = 2}));
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
}

}  // namespace
}  // namespace quotient::kernels
