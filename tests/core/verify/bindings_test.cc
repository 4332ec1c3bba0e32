#include "core/verify/bindings.h"

#include <gtest/gtest.h>

#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

std::string TypeAt(const model::Graph& graph, const Shapes& shapes, absl::string_view value) {
  const absl::StatusOr<model::Graph> bound = InferAt(graph, shapes);
  EXPECT_TRUE(bound.ok()) << bound.status();
  return bound.ok() ? model::ToString(bound->value(testing::MustFind(*bound, value)).type) : "";
}

// As an export whose inputs were made dynamic afterwards.
TEST(InferAtTest, ForgetsWhatWasDeclared) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S,8]
      const to: int64[2] = [-1,8]
      t: float32[128,1,8] = Transpose(x) {perm=[1,0,2]}
      y: float32[128,8] = Reshape(t, to)
      output y })");
  EXPECT_EQ(TypeAt(graph, {{"x", {2, 5, 8}}}, "t"), "float32[5,2,8]");
  EXPECT_EQ(TypeAt(graph, {{"x", {2, 5, 8}}}, "y"), "float32[10,8]");
}

TEST(InferAtTest, OpaqueNodesKeepWhatIsDeclaredWithSymbolsBound) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S]
      input z: float32[N,M]
      o: float32[N,S,4] = Opaque "Foo" (x)
      y = Relu(o)
      output y, z })");
  EXPECT_EQ(TypeAt(graph, {{"x", {2, 5}}, {"z", {2, 7}}}, "y"), "float32[2,5,4]");
  // Which of both N is meant nobody knows.
  const auto bound = InferAt(graph, {{"x", {2, 5}}, {"z", {3, 7}}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->value(testing::MustFind(*bound, "y")).type.has_rank(), true);
  const model::TensorType& type = bound->value(testing::MustFind(*bound, "y")).type;
  EXPECT_FALSE(type.dim(0).is_number());
  EXPECT_TRUE(type.dim(1).Is(5) && type.dim(2).Is(4));
}

// Reading the 32 weights takes as long at any dims.
TEST(OperationsOfTest, GrowWithTheDims) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,8]
      const w: float32[8,4] = random(1)
      y = MatMul(x, w)
      output y })");
  const auto one = CutAt(graph, {{"x", {1, 8}}}, 1, {}), two = CutAt(graph, {{"x", {2, 8}}}, 1, {});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(OperationsOf(*one), 32 + 24 * 32);
  EXPECT_EQ(OperationsOf(*two), 64 + 24 * 32);
}

}  // namespace
}  // namespace quotient::verify
