#include "core/verify/demands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

model::Graph TypedGraph(absl::string_view text) {
  model::Graph graph = testing::MustParse(text);
  EXPECT_TRUE(ops::InferTypes(graph).ok());
  return graph;
}

TEST(FindDemands, IndicesAreFollowedThroughMovesToAllTheirReaders) {
  const model::Graph graph = TypedGraph(R"(graph g {
      input i: int64[2,3]
      input x: float32[5,4]
      input z: float32[9,4]
      const shape: int64[1] = [6]
      flat = Reshape(i, shape)
      a = Gather(x, flat)
      b = Gather(z, i)
      output a, b })");
  EXPECT_EQ(FindDemands(graph)[0].index_bound, 5);
  EXPECT_EQ(FindDemands(graph)[1].index_bound, Demand::kNoBound);
}

TEST(FindDemands, InfinitiesPassThroughSumsAndIndicesDoNot) {
  const model::Graph graph = TypedGraph(R"(graph g {
      input i: int64[3]
      input mask: float32[4]
      input x: float32[7,4]
      one = Add(i, i)
      rows = Gather(x, one)
      masked = Add(rows, mask)
      y = Softmax(masked) {axis=-1}
      output y })");
  const std::vector<Demand> demands = FindDemands(graph);
  EXPECT_EQ(demands[0].index_bound, Demand::kNoBound);
  EXPECT_TRUE(demands[1].takes_minus_infinity);
  EXPECT_FALSE(demands[1].takes_infinities);
}

TEST(FindDemands, TuplesAreWholeOnlyInTheirOrder) {
  const model::Graph graph = TypedGraph(R"(graph g {
      input at: int64[3,2]
      input turned: int64[2,3]
      input x: float32[5,4]
      input u: float32[3]
      const shape: int64[2] = [3,2]
      same = Reshape(at, shape)
      back = Transpose(turned) {perm=[1,0]}
      a = ScatterND(x, same, u)
      b = ScatterND(x, back, u)
      output a, b })");
  const std::vector<Demand> demands = FindDemands(graph);
  EXPECT_THAT(demands[0].tuple_bounds, ElementsAre(5, 4));
  EXPECT_THAT(demands[1].tuple_bounds, ElementsAre(4));
  EXPECT_THAT(demands[2].tuple_bounds, IsEmpty());
}

// A sum of all inputs, one after the other: to follow each through all sums behind it would take
// five thousand million steps.
TEST(FindDemands, ManyInputsOfOneChain) {
  constexpr int kCount = 100'000;
  const std::vector<int64_t> dims = {4};
  const model::TensorType type = model::StaticType(model::DType::kFloat32, dims);
  model::Graph graph;
  model::ValueId sum = graph.AddInput("x", type);
  const auto add = [&](const char* op, std::vector<model::ValueId> inputs, std::string name) {
    const model::ValueId output = graph.AddValue(name, type);
    model::Node node;
    node.name = name;
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    graph.AddNode(std::move(node));
    return output;
  };
  for (int i = 0; i < kCount; ++i) {
    const model::ValueId input = graph.AddInput(absl::StrCat("x", i), type);
    sum = add("Add", {sum, input}, absl::StrCat("sum", i));
  }
  graph.outputs = {add("Softmax", {sum}, "y")};
  const std::vector<Demand> demands = FindDemands(graph);
  EXPECT_TRUE(demands.front().takes_minus_infinity);
  EXPECT_TRUE(demands.back().takes_minus_infinity);
}

}  // namespace
}  // namespace quotient::verify
