#include "core/verify/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CutGraph CutOf(absl::string_view text) {
  const auto graph = ops::BindShapes(testing::MustParse(text), {});
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *Cut(*graph);
}

Verdict CheckAgainst(absl::string_view original, absl::string_view candidate, int input_sets = 2) {
  const CutGraph cut = CutOf(original);
  absl::StatusOr<Reference> reference = Reference::Create(cut, input_sets, 0, 1, {}, {});
  EXPECT_TRUE(reference.ok()) << reference.status();
  const absl::StatusOr<Verdict> verdict = reference->Check(CutOf(candidate), 1, {});
  EXPECT_TRUE(verdict.ok()) << verdict.status();
  return *verdict;
}

constexpr char kOriginal[] = R"(graph g {
    input a: float32[2]
    input b: float32[2]
    y = Add(a, b)
    output y })";

TEST(ReferenceTest, FindsEqualGraphsEqual) {
  const Verdict verdict = CheckAgainst(kOriginal, R"(graph g {
      input b: float32[2]
      input a: float32[2]
      y = Add(b, a)
      output y })",
                                       3);
  EXPECT_TRUE(verdict.passed) << verdict.failure;
  EXPECT_EQ(verdict.inputs, 3);
}

TEST(ReferenceTest, FindsAWrongGraphWrongAndSaysWhere) {
  const Verdict verdict = CheckAgainst(kOriginal, R"(graph g {
      input a: float32[2]
      input b: float32[2]
      y = Sub(a, b)
      output y })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.failure, HasSubstr("output y["));
  EXPECT_EQ(verdict.output, "output y");
  EXPECT_EQ(verdict.set, "set 1 (values in [-1, 1])");
  EXPECT_GE(verdict.element, 0);
}

TEST(ReferenceTest, NothingFiniteIsNothingToCompare) {
  const CutGraph cut = CutOf(R"(graph g {
      input a: float32[2]
      const nan: float32[] = [nan]
      y = Add(a, nan)
      output y })");
  const absl::Status status = Reference::Create(cut, 2, 0, 1, {}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("NaN or infinite throughout"));
}

TEST(ReferenceTest, NoElementsAreNothingToCompare) {
  const CutGraph cut = CutOf(R"(graph g {
      input a: float32[0,2]
      y = Relu(a)
      output y })");
  const absl::Status status = Reference::Create(cut, 2, 0, 1, {}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("outputs are empty"));
}

constexpr char kMaskBeside[] = R"(graph g {
    input a: float32[2]
    const low: float32[] = [-inf]
    m = Add(a, low)
    y = Neg(a)
    output y, m })";

TEST(ReferenceTest, AnOutputThatIsNeverFiniteIsComparedByWhereItsInfinitiesStand) {
  const Verdict verdict = CheckAgainst(kMaskBeside, kMaskBeside);
  EXPECT_TRUE(verdict.passed) << verdict.failure;
  EXPECT_THAT(verdict.never_finite, ElementsAre("output m"));
  const Verdict other_sign = CheckAgainst(kMaskBeside, R"(graph g {
      input a: float32[2]
      const high: float32[] = [inf]
      m = Add(a, high)
      y = Neg(a)
      output y, m })");
  EXPECT_FALSE(other_sign.passed);
  EXPECT_EQ(other_sign.output, "output m");
}

TEST(ReferenceTest, AnOutputThatVanishedIsWrong) {
  const Verdict verdict = CheckAgainst(kOriginal, R"(graph g {
      input a: float32[2]
      z = Neg(a)
      output z })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.failure, "output y is missing");
}

constexpr char kOpaque[] = R"(graph g {
    input a: float32[2]
    input b: float32[2]
    s = Add(a, b)
    (t: float32[2]) = Opaque "Foo" (s, a)
    y = Neg(t)
    output y })";

TEST(ReferenceTest, WhatACutNodeReadsMayNotVanish) {
  const Verdict verdict = CheckAgainst(kOpaque, R"(graph g {
      input a: float32[2]
      input b: float32[2]
      s = Add(a, b)
      (t: float32[2]) = Opaque "Foo" (s)
      y = Neg(t)
      output y })");
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.failure, "node t input 1 is missing");
}

// What it makes is drawn at random: an output that does not change with it does not need it.
TEST(ReferenceTest, ACutNodeThatNothingNeedsMayVanish) {
  constexpr char kUseless[] = R"(graph g {
      input a: float32[2]
      const yes: bool[] = [1]
      (t: float32[2]) = Opaque "Foo" (a)
      y = Where(yes, a, t)
      output y })";
  EXPECT_TRUE(
      CheckAgainst(kUseless, "graph g { input a: float32[2] y = Identity(a) output y }").passed);
  EXPECT_FALSE(CheckAgainst(kOpaque, R"(graph g {
          input a: float32[2] input b: float32[2] s = Add(a, b) y = Neg(s) output y })")
                   .passed);
}

// Nothing is computed of these, so only the links tell.
TEST(ReferenceTest, WhatPassesBetweenCutNodesMustBeWhatItWas) {
  constexpr char kLinked[] = R"(graph g {
      input a: float32[2]
      t: float32[*] = Opaque "Foo" (a)
      u: float32[*] = Opaque "Bar" (a)
      v: float32[*] = Opaque "Join" (t, u)
      y = Neg(a)
      output y, v })";
  EXPECT_TRUE(CheckAgainst(kLinked, kLinked).passed);
  const Verdict swapped = CheckAgainst(kLinked, R"(graph g {
      input a: float32[2]
      t: float32[*] = Opaque "Foo" (a)
      u: float32[*] = Opaque "Bar" (a)
      v: float32[*] = Opaque "Join" (u, t)
      y = Neg(a)
      output y, v })");
  EXPECT_EQ(swapped.failure, "node v input 0 is not node t output 0 any more");
  const Verdict other = CheckAgainst(kLinked, R"(graph g {
      input a: float32[2]
      v: float32[*] = Opaque "Bar" (a)
      y = Neg(a)
      output y, v })");
  EXPECT_FALSE(other.passed);
}

// --- Rounding

// Rounding to whole numbers, by a number that has no digits behind the point.
constexpr char kTrick[] = R"(graph g {
    input x: float32[8,16]
    const large: float32[] = [12582912]
    up = Add(x, large)
    r = Sub(up, large)
    const ten_thousand: float32[] = [10000]
    wide = Mul(x, ten_thousand)
    y = Concat(r, wide) {axis=%d}
    output y })";

TEST(ReferenceTest, ARoundingTrickIsNoRounding) {
  for (const int axis : {0, 1}) {
    const Verdict verdict = CheckAgainst(absl::StrFormat(kTrick, axis), absl::StrFormat(R"(graph g {
            input x: float32[8,16]
            const ten_thousand: float32[] = [10000]
            wide = Mul(x, ten_thousand)
            y = Concat(x, wide) {axis=%d}
            output y })",
                                                                                        axis));
    EXPECT_FALSE(verdict.passed) << axis;
  }
}

TEST(ReferenceTest, TheRoundingTrickItselfPasses) {
  EXPECT_TRUE(CheckAgainst(absl::StrFormat(kTrick, 0), absl::StrFormat(kTrick, 0)).passed);
}

// What cancels has an error of the size of what was there before, in both.
TEST(ReferenceTest, TheRoundingOfTheOriginalIsForgiven) {
  EXPECT_TRUE(CheckAgainst(R"(graph g {
      input x: float32[8,16]
      const c: float32[] = [300.7]
      const d: float32[] = [300.1]
      a = Add(x, c)
      y = Sub(a, d)
      output y })",
                           R"(graph g {
      input x: float32[8,16]
      const c: float32[] = [0.6000061]
      y = Add(x, c)
      output y })")
                  .passed);
}

// --- Near ties: the first two scores are equal but for rounding, the third is mostly larger.

constexpr char kTies[] = R"(graph g {
    input a: float32[256,1]
    input b: float32[256,1]
    input c: float32[256,1]
    input z: float32[256,1]
    const table: float32[3,8] = random(1)
    const one: float32[] = [1.5]
    ab = Add(a, b)
    s0 = Add(ab, c)
    bc = Add(b, c)
    s1 = Add(a, bc)
    s2 = Add(z, one)
    s = Concat(%s) {axis=1}
    i = ArgMax(s) {axis=1,keepdims=0}
    y = Gather(table, i) {axis=0}
    output i, y })";

TEST(ReferenceTest, AnIndexThatRoundingDecidesIsForgiven) {
  // The other order of the sum everywhere: the first of both is always taken.
  const Verdict verdict =
      CheckAgainst(absl::StrFormat(kTies, "s0, s1, s2"), absl::StrFormat(kTies, "s1, s1, s2"));
  EXPECT_TRUE(verdict.passed) << verdict.failure;
}

TEST(ReferenceTest, AWrongIndexIsWrong) {
  EXPECT_FALSE(
      CheckAgainst(absl::StrFormat(kTies, "s0, s1, s2"), absl::StrFormat(kTies, "s0, s2, s1"))
          .passed);
  EXPECT_FALSE(
      CheckAgainst(absl::StrFormat(kTies, "s0, s1, s2"), absl::StrFormat(kTies, "s0, s1, z"))
          .passed);
}

// Where every index is decided by rounding nothing tells that another one is right.
TEST(ReferenceTest, WhatIsAlwaysATieTellsNothing) {
  EXPECT_FALSE(
      CheckAgainst(absl::StrFormat(kTies, "s0, s1"), absl::StrFormat(kTies, "s1, s0")).passed);
}

// Noise moves the indices beyond the table on wide values: that is ill-conditioned, not an error.
// The friendly set tells that y is right, of which rounding leaves nothing on wide values.
constexpr char kIndicesAtTheEdge[] = R"(graph g {
    input x: float32[32,16]
    const ten: float32[] = [10]
    const tens: float32[16] = [10,10,10,10,10,10,10,10,10,10,10,10,10,10,10,10]
    const table: float32[2] = [3,4]
    m = Abs(x)
    r = ReduceMax(m) {axes=[0,1],keepdims=0}
    l = Min(r, ten)
    d = Div(l, tens)
    c = Ceil(d)
    i = Cast(c) {to=7}
    g = Gather(table, i) {axis=0}
    %s
    output g, y })";

TEST(ReferenceTest, NoiseThatCannotBeEvaluatedIsNoError) {
  const Verdict verdict = CheckAgainst(
      absl::StrFormat(kIndicesAtTheEdge, "p = Mul(x, x) q = Mul(p, p) a = Add(x, q) y = Sub(a, q)"),
      absl::StrFormat(kIndicesAtTheEdge, "y = Identity(x)"));
  EXPECT_TRUE(verdict.passed) << verdict.failure;
}

// --- Values

TEST(ReferenceTest, AZeroThatDividesIntegersIsDrawnAgain) {
  constexpr char kDivides[] = R"(graph g {
      input a: int64[64]
      input b: int64[64]
      const one: int64[] = [%d]
      c = Mul(b, one)
      d = Abs(c)
      y = Div(a, d)
      output y })";
  EXPECT_TRUE(CheckAgainst(absl::StrFormat(kDivides, 1), absl::StrFormat(kDivides, 1)).passed);
  EXPECT_FALSE(CheckAgainst(absl::StrFormat(kDivides, 1), absl::StrFormat(kDivides, 2)).passed);
}

// Among 256 products of numbers up to 1000, one is hardly ever a float16. Of numbers up to 30, the
// whole sum mostly is.
TEST(ReferenceTest, OverflowIsDrawnAgainNarrower) {
  for (const auto& [dtype, most] : {std::pair("float16", 30.0), std::pair("float32", 1000.0)}) {
    SCOPED_TRACE(dtype);
    const CutGraph cut = CutOf(absl::StrFormat(R"(graph g {
        input x: %s[16,256]
        input w: %s[256,16]
        y = MatMul(x, w)
        output y })",
                                               dtype, dtype));
    const absl::StatusOr<Reference> reference =
        Reference::Create(cut, 1, 0, 1, {}, {.wide_first = true, .assume_finite_inputs = true});
    ASSERT_TRUE(reference.ok()) << reference.status();
    const std::vector<double> drawn = reference->inputs(0)[0].AsDoubles();
    const double largest = std::abs(
        *std::ranges::max_element(drawn, {}, [](double value) { return std::abs(value); }));
    EXPECT_LE(largest, most);
    EXPECT_GT(largest, most / 2);
  }
}

}  // namespace
}  // namespace quotient::verify
