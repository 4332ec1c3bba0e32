#include "core/verify/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CheckerTest : public ::testing::Test {
 protected:
  void Start(absl::string_view text, Shapes measured) {
    measured_ = std::move(measured);
    original_ = testing::MustParse(text);
    original_cut_ = *CutAt(original_, measured_, 1, {});
    auto checker = Checker::Create({&original_, &original_cut_}, measured_, {}, {});
    ASSERT_TRUE(checker.ok()) << checker.status();
    checker_.emplace(*std::move(checker));
  }

  // Checks it as the only candidate, which is known before.
  Verdict CheckOnly(absl::string_view text) {
    const model::Graph graph = testing::MustParse(text);
    const CutGraph cut = *CutAt(graph, measured_, 1, {});
    const Checked checked = {&graph, &cut};
    auto checker =
        Checker::Create({&original_, &original_cut_}, measured_, {.only_candidate = &checked}, {});
    EXPECT_TRUE(checker.ok()) << checker.status();
    return *checker->Check(checked, {});
  }

  Verdict Check(absl::string_view text) {
    const model::Graph graph = testing::MustParse(text);
    const CutGraph cut = *CutAt(graph, measured_, 1, {});
    const absl::StatusOr<Verdict> verdict = checker_->Check({&graph, &cut}, {});
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.value_or(Verdict());
  }

  Shapes measured_;
  model::Graph original_;
  CutGraph original_cut_;
  std::optional<Checker> checker_;
};

constexpr char kPooled[] = R"(graph g {
    input x: float32[N,S,4]
    const first: int64[] = [0]
    y = Gather(x, first) {axis=1}
    output y })";

TEST_F(CheckerTest, LooksAtTwoOtherBindingsAndAnEmptyBatch) {
  Start(kPooled, {{"x", {1, 128, 4}}});
  EXPECT_THAT(checker_->bindings(), SizeIs(3));
  EXPECT_EQ(ToString(checker_->bindings()[0].shapes), "x=[4,5,4]");
  EXPECT_EQ(checker_->bindings()[0].nodes, 1);
  EXPECT_THAT(checker_->note(), IsEmpty());
  const Verdict verdict = Check(kPooled);
  EXPECT_TRUE(verdict.passed) << verdict.failure;
  EXPECT_EQ(verdict.inputs, 6);  // The empty batch compares no inputs.
}

// The first value that differs is found at the binding and on the set that show the difference.
TEST_F(CheckerTest, FindsWhereACandidateParts) {
  const auto part = [this](absl::string_view text) {
    const model::Graph graph = testing::MustParse(text);
    const CutGraph cut = *CutAt(graph, measured_, 1, {});
    const Verdict verdict = *checker_->Check({&graph, &cut}, {});
    const auto first = checker_->Locate({&graph, &cut}, verdict, {});
    EXPECT_TRUE(first.ok()) << first.status();
    return std::pair(verdict.bound_at, first->has_value() ? (*first)->value : "");
  };
  constexpr char kOpen[] = "graph g { input x: float32[N,4] a = Abs(x) y = Exp(a) output y }";
  Start(kOpen, {{"x", {1, 4}}});
  EXPECT_EQ(part(kOpen), std::pair(-1, std::string()));
  EXPECT_EQ(part("graph g { input x: float32[N,4] a = Neg(x) y = Exp(a) output y }"),
            std::pair(0, std::string("a")));
  Start("graph g { input x: float32[2,4] a = Abs(x) y = Exp(a) output y }", {{"x", {2, 4}}});
  EXPECT_EQ(part("graph g { input x: float32[2,4] a = Abs(x) y = Sqrt(a) output y }"),
            std::pair(-1, std::string("y")));
}

TEST_F(CheckerTest, ACandidateThatTakesOneBatchOnlyIsRefused) {
  Start(kPooled, {{"x", {1, 128, 4}}});
  const Verdict verdict = Check(R"(graph g {
      input x: float32[N,S,4]
      const first: int64[] = [0]
      const to: int64[2] = [1,4]
      g = Gather(x, first) {axis=1}
      y = Reshape(g, to)
      output y })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.binding, "x=[4,5,4]");
  EXPECT_THAT(verdict.failure, HasSubstr("at x=[4,5,4]: it does not take these dims"));
}

TEST_F(CheckerTest, ACandidateOfOtherTypesIsRefused) {
  Start(kPooled, {{"x", {1, 128, 4}}});
  const Verdict verdict = Check(R"(graph g {
      input x: float32[N,S,4]
      const first: int64[] = [0]
      g = Gather(x, first) {axis=1}
      y = ReduceMax(g) {axes=[0],keepdims=1}
      output y })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.failure, HasSubstr("is float32[1,4], but should be float32[4,4]"));
}

TEST_F(CheckerTest, SizesReachTheNumbersOfTheModel) {
  Start(R"(graph g {
      input x: float32[N,S]
      const most: int64[1] = [300]
      n = Shape(x) {start=1,end=2}
      g = Greater(n, most)
      f = Cast(g) {to=1}
      y = Add(x, f)
      output y })",
        {{"x", {1, 8}}});
  std::vector<std::string> large;
  for (const CheckedBinding& binding : checker_->bindings()) {
    if (IsLarge(binding.kind)) large.push_back(ToString(binding.shapes));
  }
  EXPECT_THAT(large, ElementsAre("x=[2,301]", "x=[2,300]", "x=[301,5]", "x=[300,5]"));
}

TEST_F(CheckerTest, TheNumbersOfTheOnlyCandidateAreTried) {
  Start("graph g { input x: float32[N,4] y = Identity(x) output y }", {{"x", {1, 4}}});
  EXPECT_FALSE(CheckOnly(R"(graph g {
      input x: float32[N,4]
      const number: float32[] = [3.25]
      e = Equal(x, number)
      f = Cast(e) {to=1}
      y = Add(x, f)
      output y })")
                   .passed);
  EXPECT_FALSE(CheckOnly(R"(graph g {
      input x: float32[N,4]
      const most: int64[1] = [300]
      n = Shape(x) {start=0,end=1}
      g = Greater(n, most)
      f = Cast(g) {to=1}
      y = Add(x, f)
      output y })")
                   .passed);
}

TEST_F(CheckerTest, RowsInWhichATableDiffersAreRead) {
  const auto text = [](const char* changed) {
    return absl::StrCat(R"(graph g {
        input ids: int64[2]
        const begin: float32[1900,1] = random(1)
        const row: float32[1,1] = [)",
                        changed, R"(]
        const end: float32[3000,1] = random(2)
        table = Concat(begin, row, end) {axis=0}
        y = Gather(table, ids) {axis=0}
        output y })");
  };
  Start(text("0.5"), {});
  EXPECT_TRUE(CheckOnly(text("0.5")).passed);
  EXPECT_FALSE(CheckOnly(text("0.75")).passed);
}

TEST_F(CheckerTest, AStaticModelSaysSo) {
  Start("graph g { input x: float32[2] y = Relu(x) output y }", {});
  EXPECT_THAT(checker_->bindings(), IsEmpty());
  EXPECT_THAT(checker_->note(), HasSubstr("every dimension"));
}

// Half of what checking takes anyway is too little for a second image.
TEST_F(CheckerTest, WhereOnlyTheBatchCanChangeWideInputsMoveThere) {
  Start(R"(graph g {
      input x: float32[N,8,256,256]
      const w: float32[16,8,3,3] = random(1)
      y = Conv(x, w)
      output y })",
        {{"x", {1, 8, 256, 256}}});
  ASSERT_THAT(checker_->bindings(), SizeIs(2));
  EXPECT_EQ(checker_->bindings()[1].kind, BindingKind::kEmptyBatch);
  EXPECT_EQ(checker_->measured().num_sets(), 1);
  EXPECT_THAT(checker_->note(), HasSubstr("wide values were checked at the other binding alone"));
}

// One name is one size, unless a caller breaks that: ONNX Runtime runs the original all the same.
TEST_F(CheckerTest, ACandidateThatTrustsEqualNamesIsRefusedWhereBroadcastingBreaksThem) {
  Start(R"(graph g {
      input x: float32[N,16]
      input y: float32[N,16]
      s = Shape(x)
      e = Expand(y, s)
      z = Relu(e)
      output z })",
        {{"x", {4, 16}}, {"y", {4, 16}}});
  const Verdict verdict = Check(R"(graph g {
      input x: float32[N,16]
      input y: float32[N,16]
      z = Relu(y)
      output z })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.binding, "x=[2,16], y=[1,16]: some sizes of one name are 1");
}

// Only the shape of x is read, so that measuring needs no dims of it.
TEST_F(CheckerTest, NamesOfInputsOfWhichOnlyTheShapeIsReadAreBrokenToo) {
  Start(R"(graph g {
      input x: float32[N,16]
      input y: float32[N,16]
      s = Shape(x)
      e = Expand(y, s)
      z = Relu(e)
      output z })",
        {{"y", {4, 16}}});
  const Verdict verdict = Check(R"(graph g {
      input x: float32[N,16]
      input y: float32[N,16]
      z = Relu(y)
      output z })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.binding, HasSubstr("some sizes of one name are 1"));
}

// A product of two inputs side by side needs them to have the same rows; a sum of two products does
// not.
TEST_F(CheckerTest, ACandidateThatDoesNotBroadcastIsRefused) {
  Start(R"(graph g {
      input x: float32[N,8]
      input y: float32[N,8]
      const a: float32[8,4] = random(1)
      const b: float32[8,4] = random(2)
      p = MatMul(x, a)
      q = MatMul(y, b)
      z = Add(p, q)
      output z })",
        {{"x", {4, 8}}, {"y", {4, 8}}});
  const Verdict verdict = Check(R"(graph g {
      input x: float32[N,8]
      input y: float32[N,8]
      const a: float32[8,4] = random(1)
      const b: float32[8,4] = random(2)
      xy = Concat(x, y) {axis=1}
      ab = Concat(a, b) {axis=0}
      z = MatMul(xy, ab)
      output z })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.binding, HasSubstr("some sizes of one name are 1"));
}

// ONNX Runtime runs the original with an empty batch; a 0 in a shape cannot stand beside a -1.
TEST_F(CheckerTest, ACandidateThatDoesNotTakeAnEmptyBatchIsRefused) {
  Start(R"(graph g {
      input x: float32[N,4,8]
      y = Flatten(x) {axis=1}
      output y })",
        {{"x", {1, 4, 8}}});
  ASSERT_THAT(checker_->bindings(), Not(IsEmpty()));
  EXPECT_EQ(ToString(checker_->bindings().back().shapes), "x=[0,4,8]");
  const Verdict right = Check(R"(graph g {
      input x: float32[N,4,8]
      const to: int64[2] = [-1,32]
      y = Reshape(x, to)
      output y })");
  EXPECT_TRUE(right.passed) << right.failure;
  const Verdict verdict = Check(R"(graph g {
      input x: float32[N,4,8]
      const to: int64[2] = [0,-1]
      y = Reshape(x, to)
      output y })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.binding, "x=[0,4,8]: the batch is empty, only types are compared");
}

// What is the largest of nothing is not compared.
TEST_F(CheckerTest, OfAnEmptyBatchOnlyTypesAreCompared) {
  Start(R"(graph g {
      input x: float32[N,8]
      y = ReduceMax(x) {axes=[0],keepdims=0}
      output y })",
        {{"x", {1, 8}}});
  const Verdict right = Check(R"(graph g {
      input x: float32[N,8]
      n = Neg(x)
      m = ReduceMin(n) {axes=[0],keepdims=0}
      y = Neg(m)
      output y })");
  EXPECT_TRUE(right.passed) << right.failure;
}

TEST_F(CheckerTest, AnOutputThatIsNeverFiniteIsNamed) {
  constexpr char kMask[] = R"(graph g {
      input x: float32[N,4]
      const low: float32[] = [-inf]
      s = Shape(x)
      mask = Expand(low, s)
      y = Relu(x)
      output y, mask })";
  Start(kMask, {{"x", {1, 4}}});
  const Verdict verdict = Check(kMask);
  EXPECT_TRUE(verdict.passed) << verdict.failure;
  EXPECT_THAT(verdict.never_finite, ElementsAre("output mask"));
}

// Nothing reads x, so evaluating takes nothing, but it would be drawn.
TEST_F(CheckerTest, ABindingThatTakesTooMuchMemoryIsNotTried) {
  Start(R"(graph g {
      input x: int64[a,b,c,d,e,f,g]
      s = Shape(x)
      y = Neg(s)
      output y })",
        {{"x", {1, 1, 1, 1, 1, 1, 1}}});
  for (const CheckedBinding& binding : checker_->bindings()) {
    int64_t elements = 1;
    for (const int64_t dim : binding.shapes.at("x")) elements *= dim;
    EXPECT_LE(elements, 1 << 21) << ToString(binding.shapes);
  }
}

// Behind it nothing is known, so nothing is checked, and the report says how much that is.
TEST_F(CheckerTest, WhatIsCutAtABindingIsCounted) {
  Start(R"(graph g {
      input x: float32[N,S]
      a = Relu(x)
      o: float32[*] = Opaque "Foo" (a)
      b = Neg(o)
      output b, a })",
        {{"x", {1, 128}}});
  ASSERT_THAT(checker_->bindings(), SizeIs(3));
  EXPECT_EQ(checker_->bindings()[0].nodes, 1);
  EXPECT_EQ(checker_->bindings()[0].cut, 2);
}

TEST_F(CheckerTest, ASizeThatStayedTheSameIsNamed) {
  Start(R"(graph g {
      input x: float32[N,S,8]
      input z: float32[N,S,8]
      const to: int64[3] = [-1,77,8]
      s = Add(x, z)
      y = Reshape(s, to)
      output y })",
        {{"x", {1, 77, 8}}, {"z", {1, 77, 8}}});
  EXPECT_THAT(checker_->bindings(), Not(IsEmpty()));
  EXPECT_EQ(checker_->note(), "no size other than 77 was checked for dimension 'S' of input 'x'");
}

TEST_F(CheckerTest, ManySizesThatStayedAreCounted) {
  std::string inputs;
  Shapes measured;
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(&inputs, "input x", i, ": float32[N,S", i, ",8]\n");
    absl::StrAppend(&inputs, "y", i, " = Reshape(x", i, ", to)\n");
    measured[absl::StrCat("x", i)] = {1, 7, 8};
  }
  Start(absl::StrCat("graph g {\nconst to: int64[3] = [-1,7,8]\n", inputs,
                     "output y0, y1, y2, y3, y4 }"),
        measured);
  EXPECT_THAT(checker_->note(), HasSubstr("dimension 'S2' of input 'x2' and for 2 more"));
}

// The names of more dimensions than that are not broken one by one.
TEST_F(CheckerTest, NamesOfTooManyInputsAreSaidToBeTrusted) {
  std::string inputs, outputs;
  Shapes measured;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&inputs, "input a", i, ": float32[N,2]\ninput b", i, ": float32[N,2]\n",  //
                    "y", i, " = Add(a", i, ", b", i, ")\n");
    absl::StrAppend(&outputs, i == 0 ? "y" : ", y", i);
    measured[absl::StrCat("a", i)] = measured[absl::StrCat("b", i)] = {1, 2};
  }
  Start(absl::StrCat("graph g {\n", inputs, "output ", outputs, " }"), measured);
  EXPECT_THAT(checker_->note(), HasSubstr("dimensions of one name were taken to be equal"));
  EXPECT_THAT(checker_->note(), HasSubstr("too many"));
}

TEST_F(CheckerTest, WhatCannotBeEvaluatedAtOtherDimsIsSaid) {
  // The last row that is read is there in 128 of them alone.
  Start(R"(graph g {
      input x: float32[S,4]
      const last: int64[1] = [127]
      y = Gather(x, last) {axis=0}
      output y })",
        {{"x", {128, 4}}});
  EXPECT_THAT(checker_->bindings(), IsEmpty());
  EXPECT_THAT(checker_->note(), HasSubstr("no other sizes were found"));
}

}  // namespace
}  // namespace quotient::verify
