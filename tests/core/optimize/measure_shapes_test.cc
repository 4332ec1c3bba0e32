#include "core/optimize/measure_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using Dims = std::vector<int64_t>;
using ::testing::ElementsAre;
using testing::HasReason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;

model::Graph Typed(absl::string_view text) {
  model::Graph graph = testing::MustParse(text);
  EXPECT_THAT(ops::InferTypes(graph), IsOk());
  return graph;
}

absl::StatusOr<MeasureShapes> Choose(const model::Graph& graph,
                                     const ops::InputShapes& asked = {}) {
  const auto accept = [&graph](const ops::InputShapes& shapes) -> absl::StatusOr<double> {
    QUOTIENT_RETURN_IF_ERROR(ops::BindShapes(graph, shapes).status());
    return 0;
  };
  return ChooseMeasureShapes(graph, asked, accept, StopCondition());
}

absl::StatusOr<MeasureShapes> Choose(absl::string_view text, const ops::InputShapes& asked = {}) {
  return Choose(Typed(text), asked);
}

TEST(MeasureShapesTest, FirstDimensionIsABatch) {
  ASSERT_OK_AND_ASSIGN(
      const MeasureShapes chosen,
      Choose("graph g { input x: float32[N,3] input y: float32[N,1] z = Add(x, y) output z }"));
  EXPECT_EQ(chosen.shapes.at("x"), (Dims{1, 3}));
  EXPECT_EQ(chosen.shapes.at("y"), (Dims{1, 1}));
  EXPECT_THAT(chosen.notes, ElementsAre(HasSubstr("'N' of input 'x' was taken as 1")));
}

TEST(MeasureShapesTest, WhatTheUserBindsHoldsEverywhere) {
  ASSERT_OK_AND_ASSIGN(
      const MeasureShapes chosen,
      Choose("graph g { input x: float32[N,S] input y: float32[N,S] z = Add(x, y) output z }",
             {{"x", {4, 77}}}));
  EXPECT_EQ(chosen.shapes.at("y"), (Dims{4, 77}));
  EXPECT_THAT(chosen.notes, IsEmpty());
}

// 224 each would be eleven million elements, and 2.5 thousand millions.
TEST(MeasureShapesTest, ManyOpenDimensionsOfOneInputAreAssumedSmall) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen, Choose(R"(graph g {
      input x: float32[N,C,H,W] input y: float32[?,?,?,?,?]
      a = Relu(x) b = Relu(y) output a, b })"));
  EXPECT_EQ(chosen.shapes.at("x"), (Dims{1, 112, 112, 112}));
  EXPECT_EQ(chosen.shapes.at("y"), (Dims{1, 28, 28, 28, 28}));
}

TEST(MeasureShapesTest, OtherDimensionsAreAssumedAndNoted) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen, Choose(R"(graph g {
      input x: float32[1,S] input y: float32[N,3,H,?]
      a = Relu(x) b = Relu(y) output a, b })"));
  EXPECT_EQ(chosen.shapes.at("x"), (Dims{1, 128}));
  EXPECT_EQ(chosen.shapes.at("y"), (Dims{1, 3, 224, 224}));
  ASSERT_EQ(chosen.notes.size(), 4u);
  EXPECT_THAT(chosen.notes[3], HasSubstr("dimension 3 of input 'y' was taken as 224"));
}

TEST(MeasureShapesTest, AnInputWithADefaultIsAsLargeAsThat) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen, Choose([] {
                         model::Graph graph = Typed(R"(graph g {
      input x: float32[N,3] input w: float32[1,M] y = Mul(x, w) output y })");
                         graph.defaults[1] = testing::Floats({1, 3}, {1, 2, 3});
                         return graph;
                       }()));
  EXPECT_EQ(chosen.shapes.at("w"), (Dims{1, 3}));
}

// As recognizers of text have it: two dimensions of which nothing is known are not equal.
TEST(MeasureShapesTest, UnknownDimensionsAreBoundOneByOne) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen,
                       Choose("graph g { input x: float32[?,3,?,?] y = Relu(x) output y }",
                              {{"x", {1, 3, 48, 192}}}));
  EXPECT_EQ(chosen.shapes.at("x"), (Dims{1, 3, 48, 192}));
}

// A voice detector: its first window is longer than what is assumed.
TEST(MeasureShapesTest, ALengthThatIsTooShortGrows) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen, Choose(R"(graph g {
      input x: float32[N,1,L]
      const w: float32[8,1,256] = random(1)
      y = Conv(x, w) {strides=[128]}
      output y })"));
  EXPECT_EQ(chosen.shapes.at("x"), (Dims{1, 1, 256}));
  EXPECT_THAT(chosen.notes,
              ElementsAre(HasSubstr("'N'"), HasSubstr("'L' of input 'x' was taken as 256")));
}

TEST(MeasureShapesTest, SizesThatMustAgreeDo) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes broadcast, Choose(R"(graph g {
      input a: float32[N,L] input b: float32[N,1,1,S]
      y = Add(a, b)
      output y })"));
  EXPECT_EQ(broadcast.shapes.at("a")[1], broadcast.shapes.at("b")[3]);
  // Neither side alone can be the one that a table of 384 times 384 positions needs.
  ASSERT_OK_AND_ASSIGN(const MeasureShapes picture, Choose(R"(graph g {
      input x: float32[N,1,H,W]
      const flat: int64[2] = [1,147456]
      y = Reshape(x, flat)
      output y })"));
  EXPECT_EQ(picture.shapes.at("x"), (Dims{1, 1, 384, 384}));
}

// Text encoders of fixed length, and detectors with so many positions.
TEST(MeasureShapesTest, SizesThatTheModelNamesAreTried) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes all, Choose(R"(graph g {
      input x: float32[1,S,8]
      const to: int64[3] = [1,77,8]
      y = Reshape(x, to)
      output y })"));
  EXPECT_EQ(all.shapes.at("x"), (Dims{1, 77, 8}));
  ASSERT_OK_AND_ASSIGN(const MeasureShapes some, Choose(R"(graph g {
      input x: float32[1,S,8]
      const to: int64[3] = [-1,49,8]
      y = Reshape(x, to)
      output y })"));
  EXPECT_EQ(some.shapes.at("x"), (Dims{1, 49, 8}));
}

// A single position would be broadcast, which is not what the table of 77 positions is for.
TEST(MeasureShapesTest, ALengthThatIsBroadcastIsTheLastResort) {
  for (const char* const positions : {"77", "50000"}) {
    ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen,
                         Choose(absl::StrCat(R"(graph g {
        input x: float32[N,S,8]
        const pe: float32[1,)",
                                             positions, R"(,8] = random(1)
        y = Add(x, pe)
        output y })")));
    EXPECT_EQ(absl::StrCat(chosen.shapes.at("x")[1]), positions);
  }
}

// The mask covers the past and the present, whichever of the inputs comes first.
TEST(MeasureShapesTest, AMaskIsAsLongAsPastAndPresent) {
  constexpr absl::string_view kInputs[] = {"input mask: float32[N,T]\n",
                                           "input past: float32[N,2,P,4]\n",
                                           "input x: float32[N,2,S,4]\n"};
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    std::string inputs;
    for (const int i : order) absl::StrAppend(&inputs, kInputs[i]);
    ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen, Choose(absl::StrCat("graph g {\n", inputs, R"(
        const axes: int64[2] = [1,2]
        k = Concat(past, x) {axis=2}
        t = Transpose(k) {perm=[0,1,3,2]}
        scores = MatMul(x, t)
        m = Unsqueeze(mask, axes)
        y = Add(scores, m)
        output y })")));
    EXPECT_EQ(chosen.shapes.at("mask")[1], chosen.shapes.at("past")[2] + chosen.shapes.at("x")[2])
        << inputs;
  }
}

TEST(MeasureShapesTest, WhereNoSizesFitTheUserIsAsked) {
  constexpr char kText[] = R"(graph g {
      input x: float32[N,L]
      const flat: int64[2] = [7,1000003]
      y = Reshape(x, flat)
      output y })";
  EXPECT_THAT(Choose(kText), HasReason(Reason::kShapeMissing, HasSubstr("--measure-shape x=DIMS")));
  EXPECT_THAT(Choose(kText, {{"x", {7, 1000003}}}), IsOk());
  EXPECT_THAT(Choose(kText, {{"x", {7, 5}}}),
              HasReason(Reason::kOptionInvalid, HasSubstr("makes no sense")));
}

TEST(MeasureShapesTest, WhatIsTooLargeIsTakenSmaller) {
  const model::Graph graph = Typed("graph g { input x: float32[N,C,T,H,W] y = Relu(x) output y }");
  const auto elements = [](const Dims& dims) {
    int64_t product = 1;
    for (int64_t dim : dims) product *= dim;
    return product;
  };
  const auto chosen = ChooseMeasureShapes(
      graph, {},
      [&](const ops::InputShapes& shapes) -> absl::StatusOr<double> {
        if (elements(shapes.at("x")) <= 100'000'000) return 0;
        return MakeError(Reason::kModelUnsupported, "too large");
      },
      StopCondition());
  ASSERT_THAT(chosen, IsOk());
  EXPECT_LE(elements(chosen->shapes.at("x")), 100'000'000);
}

// The sides of a volume: an evaluation takes eight times as long if they double.
TEST(MeasureShapesTest, WhatTakesTooLongIsTakenSmaller) {
  const model::Graph graph = Typed("graph g { input x: float32[N,1,T,H,W] y = Relu(x) output y }");
  Dims last;
  const auto with_cost = [&last](double per_element) {
    return [&last, per_element](const ops::InputShapes& shapes) -> absl::StatusOr<double> {
      last = shapes.at("x");
      double product = per_element;
      for (int64_t dim : last) product *= static_cast<double>(dim);
      return product;
    };
  };
  const auto choose = [&](double per_element, const ops::InputShapes& asked = {}) {
    const auto chosen = ChooseMeasureShapes(graph, asked, with_cost(per_element), StopCondition());
    EXPECT_THAT(chosen, IsOk());
    EXPECT_EQ(last, chosen->shapes.at("x"));
    return last;
  };
  EXPECT_EQ(choose(30'000), (Dims{1, 1, 112, 112, 112}));
  EXPECT_EQ(choose(60'000), (Dims{1, 1, 56, 56, 56}));
  EXPECT_EQ(choose(1e12), (Dims{1, 1, 28, 28, 28})) << "nothing is left of smaller ones";
  EXPECT_EQ(choose(1e12, {{"x", {2, 1, 112, 112, 112}}}), (Dims{2, 1, 112, 112, 112}))
      << "what the user asks for is not changed";
}

TEST(MeasureShapesTest, OnlySizesThatMayChangeAreTakenSmaller) {
  const model::Graph graph = Typed(R"(graph g {
      input x: float32[N,L] input y: float32[N,S] const c: float32[128] = random(1)
      a = Add(x, c) b = Slice(y) {starts=[40], ends=[50], axes=[1]} output a, b })");
  ops::InputShapes last;
  const auto chosen = ChooseMeasureShapes(
      graph, {},
      [&](const ops::InputShapes& shapes) -> absl::StatusOr<double> {
        last = shapes;
        QUOTIENT_RETURN_IF_ERROR(ops::BindShapes(graph, shapes).status());
        return 1e9 * static_cast<double>(shapes.at("y")[1]);
      },
      StopCondition());
  ASSERT_THAT(chosen, IsOk());
  EXPECT_EQ(chosen->shapes.at("x"), (Dims{1, 128}));
  EXPECT_EQ(chosen->shapes.at("y"), (Dims{1, 64})) << "half of that would leave nothing of b";
  EXPECT_EQ(last, chosen->shapes);
}

TEST(MeasureShapesTest, OtherErrorsEndTheChoice) {
  int asked = 0;
  const auto chosen = ChooseMeasureShapes(
      Typed("graph g { input x: float32[N] y = Relu(x) output y }"), {},
      [&asked](const ops::InputShapes&) -> absl::StatusOr<double> {
        ++asked;
        return MakeError(Reason::kCancelled, "cancelled");
      },
      StopCondition());
  EXPECT_THAT(chosen, HasReason(Reason::kCancelled));
  EXPECT_EQ(asked, 1);
}

// Sizes that are never right would be tried a thousand times.
TEST(MeasureShapesTest, ChoosingEndsWhenToldTo) {
  const model::Graph graph = Typed("graph g { input x: float32[N,L] y = Relu(x) output y }");
  CancelToken token;
  int asked = 0;
  const auto cancel_at_third = [&](const ops::InputShapes&) -> absl::StatusOr<double> {
    if (++asked == 3) token.Cancel();
    return MakeError(Reason::kModelUnsupported, "too large");
  };
  EXPECT_THAT(ChooseMeasureShapes(graph, {}, cancel_at_third, StopCondition(&token)),
              HasReason(Reason::kCancelled));
  EXPECT_EQ(asked, 3);
  const StopCondition late = StopCondition().WithBudget(Clock::System(), 0);
  EXPECT_THAT(ChooseMeasureShapes(graph, {}, cancel_at_third, late), HasReason(Reason::kRunBudget));
  EXPECT_EQ(asked, 3);
}

TEST(MeasureShapesTest, ATensorThatIsAlwaysEmptyIsNoReasonToGiveUp) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen, Choose(R"(graph g {
      input x: float32[N,L]
      y = Slice(x) {starts=[100000], ends=[100001], axes=[1]}
      output y })"));
  EXPECT_EQ(chosen.shapes.at("x"), (Dims{1, 128}));
}

TEST(MeasureShapesTest, AnUnknownRankIsLeftAndSaid) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen,
                       Choose("graph g { input x: float32[*] z = Relu(x) output z }"));
  EXPECT_THAT(chosen.shapes, IsEmpty());
  EXPECT_THAT(chosen.notes, ElementsAre(HasSubstr("--measure-shape x=DIMS")));
}

// A quantized model's inputs are read by QuantizeLinear alone.
TEST(MeasureShapesTest, WhatOpaqueNodesReadIsBoundAndWhatNobodyReadsIsNot) {
  ASSERT_OK_AND_ASSIGN(const MeasureShapes chosen, Choose(R"(graph g {
      input unused: float32[1,S]
      input x: float32[N,2]
      y = Opaque "Foo" (x)
      output y })"));
  EXPECT_THAT(chosen.shapes, ElementsAre(::testing::Pair("x", Dims{1, 2})));
}

}  // namespace
}  // namespace quotient::optimize
