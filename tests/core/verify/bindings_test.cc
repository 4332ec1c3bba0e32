#include "core/verify/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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

TEST(ProposeBindingsTest, EveryDimGetsANumberOfItsOwn) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S]
      input z: float32[N,S]
      a = ReduceSum(x) {axes=[0,1]}
      b = ReduceSum(z) {axes=[0,1]}
      y = Add(a, b)
      output y })");
  const Shapes measured = {{"x", {1, 128}}, {"z", {1, 128}}};
  const Shapes first = ProposeBindings(graph, measured, 0, {}).at(0);
  EXPECT_THAT(first.at("x"), ElementsAre(2, 5));
  EXPECT_THAT(first.at("z"), ElementsAre(3, 7));
  const Shapes second = ProposeBindings(graph, measured, 1, {}).at(0);
  EXPECT_THAT(second.at("x"), ElementsAre(3, 6));
}

TEST(ProposeBindingsTest, OneNumberForANameWhereTheOperatorsNeedIt) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S]
      input z: float32[N,S]
      input u: float32[N,S]
      a = Add(x, z)
      b = ReduceSum(u) {axes=[0,1]}
      y = Add(a, b)
      output y })");
  const Shapes shapes =
      ProposeBindings(graph, {{"x", {1, 128}}, {"z", {1, 128}}, {"u", {1, 128}}}, 0, {}).at(0);
  EXPECT_EQ(shapes.at("x"), shapes.at("z"));
  EXPECT_NE(shapes.at("x")[0], shapes.at("u")[0]);
  EXPECT_NE(shapes.at("x")[1], shapes.at("u")[1]);
}

TEST(ProposeBindingsTest, UnknownDimsThatBelongTogetherGetOneNumber) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[?,?]
      input z: float32[?,?]
      y = Add(x, z)
      output y })");
  const Shapes shapes = ProposeBindings(graph, {{"x", {1, 48}}, {"z", {1, 48}}}, 0, {}).at(0);
  EXPECT_EQ(shapes.at("x"), shapes.at("z"));
}

TEST(ProposeBindingsTest, SizesAreThoseThatTheOperatorsTake) {
  // Halved four times and brought back by twice the size: the side is a multiple of 16.
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[1,2,H,W]
      const to: int64[6] = [1,2,-1,16,2,16]
      y = Reshape(x, to)
      output y })");
  for (const Shapes& shapes : ProposeBindings(graph, {{"x", {1, 2, 224, 32}}}, 0, {})) {
    EXPECT_EQ(shapes.at("x")[2] * shapes.at("x")[3] % 512, 0) << ToString(shapes);
  }
}

// A head that was made for pictures of one size.
TEST(ProposeBindingsTest, WhereNoOtherSizeWillDoTheBatchChanges) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,2,H,W]
      const w: float32[98,3] = random(1)
      f = Flatten(x) {axis=1}
      y = MatMul(f, w)
      output y })");
  const std::vector<Shapes> proposals = ProposeBindings(graph, {{"x", {1, 2, 7, 7}}}, 0, {});
  ASSERT_THAT(proposals, SizeIs(1));
  EXPECT_THAT(proposals[0].at("x"), ElementsAre(2, 2, 7, 7));
}

// The operators know that batches and lengths are equal, their names do not.
TEST(ProposeBindingsTest, DimensionsOfDifferentNamesThatHaveToBeEqualAre) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[batch,length,4]
      input y: float32[batch_1,length_1,4]
      z = Concat(x, y) {axis=2}
      output z })");
  const std::vector<Shapes> proposals =
      ProposeBindings(graph, {{"x", {1, 128, 4}}, {"y", {1, 128, 4}}}, 0, {});
  ASSERT_FALSE(proposals.empty());
  EXPECT_THAT(proposals[0].at("x"), ElementsAre(2, 5, 4));
  EXPECT_THAT(proposals[0].at("y"), ElementsAre(2, 5, 4));
}

// A step for each pair of dimensions would take minutes.
TEST(ProposeBindingsTest, ManyInputs) {
  constexpr int kInputs = 20'000;
  model::Graph graph = testing::MustParse(R"(graph g {
      input a: float32[N,S]
      input b: float32[N,S]
      y = Add(a, b)
      output y })");
  Shapes measured = {{"a", {1, 8}}, {"b", {1, 8}}};
  for (int i = 0; i < kInputs; ++i) {
    const std::string name = absl::StrCat("x", i);
    model::TensorType type = graph.value(graph.inputs[0]).type;
    if (i % 2 == 0) type.shape->at(1) = model::Dim();
    graph.AddInput(name, std::move(type));
    measured[name] = {1, 8};
  }
  const std::vector<Shapes> proposals = ProposeBindings(graph, measured, 0, {});
  ASSERT_THAT(proposals, Not(IsEmpty()));
  EXPECT_EQ(proposals[0].at("a"), proposals[0].at("b"));
  CancelToken token;
  token.Cancel();
  EXPECT_THAT(ProposeBindings(graph, measured, 0, StopCondition(&token)), IsEmpty());
}

TEST(ProposeBindingsTest, AStaticGraphHasNone) {
  const model::Graph graph =
      testing::MustParse("graph g { input x: float32[2] y = Relu(x) output y }");
  EXPECT_FALSE(HasFreeDims(graph, {}));
  EXPECT_THAT(ProposeBindings(graph, {}, 0, {}), IsEmpty());
}

TEST(OperationsOfTest, GrowWithTheDims) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,8]
      const w: float32[8,4] = random(1)
      y = MatMul(x, w)
      output y })");
  const auto one = CutAt(graph, {{"x", {1, 8}}}, 1, {}), two = CutAt(graph, {{"x", {2, 8}}}, 1, {});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(OperationsOf(*one), 32);
  EXPECT_EQ(OperationsOf(*two), 64);
}

}  // namespace
}  // namespace quotient::verify
