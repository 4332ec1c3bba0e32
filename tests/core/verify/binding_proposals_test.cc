#include "core/verify/binding_proposals.h"

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

TEST(ProposeBindingsTest, EveryDimGetsANumberOfItsOwn) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S]
      input z: float32[N,S]
      a = ReduceSum(x) {axes=[0,1]}
      b = ReduceSum(z) {axes=[0,1]}
      y = Add(a, b)
      output y })");
  const Shapes measured = {{"x", {1, 128}}, {"z", {1, 128}}};
  const Shapes first = ProposeBindings(graph, measured, BindingKind::kFirst, {}).at(0);
  EXPECT_THAT(first.at("x"), ElementsAre(4, 5));
  EXPECT_THAT(first.at("z"), ElementsAre(6, 7));
  const Shapes second = ProposeBindings(graph, measured, BindingKind::kSecond, {}).at(0);
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
  const Shapes shapes = ProposeBindings(graph, {{"x", {1, 128}}, {"z", {1, 128}}, {"u", {1, 128}}},
                                        BindingKind::kFirst, {})
                            .at(0);
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
  const Shapes shapes =
      ProposeBindings(graph, {{"x", {1, 48}}, {"z", {1, 48}}}, BindingKind::kFirst, {}).at(0);
  EXPECT_EQ(shapes.at("x"), shapes.at("z"));
}

TEST(ProposeBindingsTest, SizesAreThoseThatTheOperatorsTake) {
  // Halved four times and brought back by twice the size: the side is a multiple of 16.
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[1,2,H,W]
      const to: int64[6] = [1,2,-1,16,2,16]
      y = Reshape(x, to)
      output y })");
  for (const Shapes& shapes :
       ProposeBindings(graph, {{"x", {1, 2, 224, 32}}}, BindingKind::kFirst, {})) {
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
  const std::vector<Shapes> proposals =
      ProposeBindings(graph, {{"x", {1, 2, 7, 7}}}, BindingKind::kFirst, {});
  ASSERT_THAT(proposals, SizeIs(2));
  EXPECT_THAT(proposals[0].at("x"), ElementsAre(4, 2, 7, 7));
  EXPECT_THAT(proposals[1].at("x"), ElementsAre(2, 2, 7, 7));
}

// The operators know that batches and lengths are equal, their names do not.
TEST(ProposeBindingsTest, DimensionsOfDifferentNamesThatHaveToBeEqualAre) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[batch,length,4]
      input y: float32[batch_1,length_1,4]
      z = Concat(x, y) {axis=2}
      output z })");
  const std::vector<Shapes> proposals =
      ProposeBindings(graph, {{"x", {1, 128, 4}}, {"y", {1, 128, 4}}}, BindingKind::kFirst, {});
  ASSERT_FALSE(proposals.empty());
  EXPECT_THAT(proposals[0].at("x"), ElementsAre(4, 5, 4));
  EXPECT_THAT(proposals[0].at("y"), ElementsAre(4, 5, 4));
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
  const std::vector<Shapes> proposals = ProposeBindings(graph, measured, BindingKind::kFirst, {});
  ASSERT_THAT(proposals, Not(IsEmpty()));
  EXPECT_EQ(proposals[0].at("a"), proposals[0].at("b"));
  CancelToken token;
  token.Cancel();
  EXPECT_THAT(ProposeBindings(graph, measured, BindingKind::kFirst, StopCondition(&token)),
              IsEmpty());
}

TEST(ProposeBindingsTest, AStaticGraphHasNone) {
  const model::Graph graph =
      testing::MustParse("graph g { input x: float32[2] y = Relu(x) output y }");
  EXPECT_THAT(FreeDims(graph, {}), IsEmpty());
  EXPECT_THAT(ProposeBindings(graph, {}, BindingKind::kFirst, {}), IsEmpty());
}

TEST(ProposeBindingsTest, ABatchMayBeEmpty) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S,4]
      input y: float32[N,S,4]
      z = Concat(x, y) {axis=2}
      output z })");
  const std::vector<Shapes> proposals =
      ProposeBindings(graph, {{"x", {1, 8, 4}}, {"y", {1, 8, 4}}}, BindingKind::kEmptyBatch, {});
  ASSERT_THAT(proposals, Not(IsEmpty()));
  EXPECT_EQ(ToString(proposals[0]), "x=[0,5,4], y=[0,5,4]");
  const model::Graph line =
      testing::MustParse("graph g { input x: float32[S] y = Relu(x) output y }");
  EXPECT_THAT(ProposeBindings(line, {{"x", {8}}}, BindingKind::kEmptyBatch, {}), IsEmpty());
}

// --- What a caller can break ---

// y is made as large as x, so it may also be one row that is repeated.
constexpr char kExpanded[] = R"(graph g {
    input x: float32[N,16]
    input y: float32[N,16]
    s = Shape(x)
    y1 = Expand(y, s)
    z = Relu(y1)
    output z })";

TEST(ProposeBindingsTest, SizesOfOneNameAreOneWhereTheOperatorsBroadcast) {
  const model::Graph graph = testing::MustParse(kExpanded);
  const Shapes measured = {{"x", {4, 16}}, {"y", {4, 16}}};
  const Shapes equal = ProposeBindings(graph, measured, BindingKind::kFirst, {}).at(0);
  EXPECT_EQ(equal.at("x"), equal.at("y"));
  const Shapes others = ProposeBindings(graph, measured, BindingKind::kOthersAreOne, {}).at(0);
  EXPECT_THAT(others.at("x"), ElementsAre(2, 16));
  EXPECT_THAT(others.at("y"), ElementsAre(1, 16));
  const Shapes first = ProposeBindings(graph, measured, BindingKind::kFirstIsOne, {}).at(0);
  EXPECT_THAT(first.at("x"), ElementsAre(1, 16));
  EXPECT_THAT(first.at("y"), ElementsAre(2, 16));
}

TEST(ProposeBindingsTest, SizesChangePlacesWhereElementsAreCounted) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S,16]
      input y: float32[N,S,16]
      s = Shape(x)
      z = Reshape(y, s)
      output z })");
  const Shapes measured = {{"x", {1, 8, 16}}, {"y", {1, 8, 16}}};
  EXPECT_THAT(ProposeBindings(graph, measured, BindingKind::kOthersAreOne, {}), IsEmpty());
  const Shapes swapped = ProposeBindings(graph, measured, BindingKind::kSwapped, {}).at(0);
  const std::vector<int64_t>&x = swapped.at("x"), &y = swapped.at("y");
  EXPECT_NE(x[0], x[1]);
  EXPECT_THAT(y, ElementsAre(x[1], x[0], 16));
}

TEST(ProposeBindingsTest, NothingIsBrokenThatOperatorsInsistOn) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S,4]
      input y: float32[N,S,4]
      z = Concat(x, y) {axis=2}
      output z })");
  const Shapes measured = {{"x", {1, 8, 4}}, {"y", {1, 8, 4}}};
  for (const BindingKind kind :
       {BindingKind::kOthersAreOne, BindingKind::kFirstIsOne, BindingKind::kSwapped}) {
    EXPECT_THAT(ProposeBindings(graph, measured, kind, {}), IsEmpty()) << ToString(kind);
  }
}

}  // namespace
}  // namespace quotient::verify
