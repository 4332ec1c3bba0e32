#include "core/verify/binding_proposals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

// The first alternative of each binding, with all inputs in the order of their names.
std::vector<std::string> Broken(const model::Graph& graph, const Shapes& measured) {
  const BrokenNames broken = ProposeBrokenNames(graph, measured, {});
  EXPECT_TRUE(broken.tried_all);
  std::vector<std::string> texts;
  for (const std::vector<Shapes>& alternatives : broken.bindings) {
    texts.push_back(ToString(alternatives.at(0)));
  }
  return texts;
}

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
  EXPECT_THAT(Broken(graph, measured), ElementsAre("x=[2,16], y=[1,16]", "x=[1,16], y=[2,16]"));
}

TEST(ProposeBindingsTest, EachPairOfThreeSizesOfOneNameIsBroken) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,8]
      input a: float32[N,8]
      input b: float32[N,8]
      y = Add(a, b)
      z = Relu(x)
      output y, z })");
  EXPECT_THAT(Broken(graph, {{"x", {1, 8}}, {"a", {1, 8}}, {"b", {1, 8}}}),
              ElementsAre("a=[2,8], b=[1,8], x=[2,8]", "a=[1,8], b=[2,8], x=[2,8]",
                          "a=[2,8], b=[2,8], x=[1,8]"));
}

// Nine inputs side by side, which must have the same rows, hide two that need not.
TEST(ProposeBindingsTest, SizesThatMustStayEqualDoNotHideOthers) {
  std::string inputs, list;
  Shapes measured = {{"q", {1, 4}}, {"c", {1, 4}}};
  for (int i = 0; i < 9; ++i) {
    absl::StrAppend(&inputs, "input x", i, ": float32[N,4]\n");
    absl::StrAppend(&list, i == 0 ? "x" : ", x", i);
    measured[absl::StrCat("x", i)] = {1, 4};
  }
  const model::Graph graph = testing::MustParse(absl::StrCat("graph g {", inputs, R"(
      input q: float32[N,4]
      input c: bool[N,4]
      s = Concat()",
                                                             list, R"() {axis=1}
      r = Relu(q)
      y = Where(c, r, r)
      output s, y })"));
  const std::vector<std::string> broken = Broken(graph, measured);
  EXPECT_THAT(broken, SizeIs(3));
  EXPECT_THAT(broken, Contains(HasSubstr("c=[2,4], q=[1,4]")));
  EXPECT_THAT(broken, Contains(HasSubstr("c=[1,4], q=[2,4]")));
  EXPECT_THAT(broken, Contains(HasSubstr("x8=[1,4]")));
}

// A table of 50 positions takes no other length than 50 and 1.
TEST(ProposeBindingsTest, NamesAreBrokenAtTheSizesThatTheOperatorsInsistOn) {
  for (const char* const lengths : {"1,S,8", "S,8"}) {
    const model::Graph graph = testing::MustParse(
        absl::StrCat("graph g { input q: float32[", lengths, "] input c: bool[", lengths, R"(]
        const pe: float32[50,8] = random(1)
        z = Add(q, pe)
        r = Relu(q)
        y = Where(c, r, r)
        output z, y })"));
    for (const int64_t measured : {1, 50}) {
      std::vector<int64_t> dims = {measured, 8};
      if (lengths[0] == '1') dims.insert(dims.begin(), 1);
      const std::vector<std::string> broken = Broken(graph, {{"q", dims}, {"c", dims}});
      const std::string first = lengths[0] == '1' ? "1," : "";
      EXPECT_THAT(broken, Contains(absl::StrCat("c=[", first, "50,8], q=[", first, "1,8]")))
          << measured;
    }
  }
}

// A mask is as long as a past and a present sequence together.
TEST(ProposeBindingsTest, LengthsThatAddUpDoSoAgain) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input mask: float32[N,T,4]
      input past: float32[N,P,4]
      input x: float32[N,S,4]
      k = Concat(past, x) {axis=1}
      y = Concat(k, mask) {axis=2}
      output y })");
  const Shapes measured = {{"mask", {1, 352, 4}}, {"past", {1, 224, 4}}, {"x", {1, 128, 4}}};
  const Shapes shapes = ProposeBindings(graph, measured, BindingKind::kFirst, {}).at(0);
  EXPECT_THAT(shapes.at("past"), ElementsAre(4, 7, 4));
  EXPECT_THAT(shapes.at("x"), ElementsAre(4, 9, 4));
  EXPECT_THAT(shapes.at("mask"), ElementsAre(4, 16, 4));
}

TEST(ProposeBindingsTest, WhereNoUsualSizeWillDoOneThatOccursInTheModelIsProposed) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S,8]
      const pe: float32[1,77,8] = random(1)
      y = Add(x, pe)
      output y })");
  const Shapes long_one = {{"x", {1, 77, 8}}}, short_one = {{"x", {1, 1, 8}}};
  const auto first = [&](const Shapes& measured, BindingKind kind) {
    return ToString(ProposeBindings(graph, measured, kind, {}).at(0));
  };
  EXPECT_EQ(first(long_one, BindingKind::kFirst), "x=[4,77,8]");
  EXPECT_EQ(first(long_one, BindingKind::kSecond), "x=[3,1,8]");
  EXPECT_EQ(first(short_one, BindingKind::kFirst), "x=[4,1,8]");
  EXPECT_EQ(first(short_one, BindingKind::kSecond), "x=[3,77,8]");
}

TEST(ProposeBindingsTest, SizesChangePlacesWhereElementsAreCounted) {
  const model::Graph graph = testing::MustParse(R"(graph g {
      input x: float32[N,S,16]
      input y: float32[N,S,16]
      s = Shape(x)
      z = Reshape(y, s)
      output z })");
  const Shapes measured = {{"x", {1, 8, 16}}, {"y", {1, 8, 16}}};
  EXPECT_THAT(Broken(graph, measured), IsEmpty());
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
  EXPECT_THAT(Broken(graph, measured), IsEmpty());
  EXPECT_THAT(ProposeBindings(graph, measured, BindingKind::kSwapped, {}), IsEmpty());
}

}  // namespace
}  // namespace quotient::verify
