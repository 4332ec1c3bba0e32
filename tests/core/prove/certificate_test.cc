// Rules that are right get the certificate they deserve, and wrong ones a counterexample.

#include "core/prove/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rules/vocabulary.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RuleMaker Text(const std::string& text) {
  return
      [text](domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
        rules::Words words(domain);
        rules::AddCommonWords(words);
        return testing::CompileRule(text, words.vocabulary());
      };
}

Certificate CertificateOf(const std::string& rule, const std::string& graph) {
  const std::vector<model::Graph> graphs = {rules::ParseStatic("graph g {\n" + graph + "\n}")};
  const auto certificate =
      Certify(Text(rule), graphs, {.instances = 10, .symbolic = 10, .seed = 1});
  EXPECT_OK(certificate.status());
  return certificate.value_or(Certificate());
}

constexpr char kSum[] = R"(
  input x: float32[2,3]
  input y: float32[2,3]
  input z: float32[2,3]
  a = Mul(x, y)
  b = Mul(x, z)
  c = Add(a, b)
  output c)";

TEST(Certify, AnEquationOfPolynomialsIsExact) {
  const Certificate certificate =
      CertificateOf("Add(Mul(?x, ?y), Mul(?x, ?z)) => Mul(?x, Add(?y, ?z))", kSum);
  EXPECT_EQ(certificate.tier, Tier::kExact);
  EXPECT_EQ(certificate.instances, 10);
  EXPECT_EQ(certificate.exact, 10);
  EXPECT_EQ(certificate.symbolic, 10);
  EXPECT_EQ(certificate.symbolic_exact, 10);
  EXPECT_GE(certificate.equations, 30) << "each graph with symbols has several sizes";
}

TEST(Certify, AFunctionThatIsOnlyMovedIsLeftOpen) {
  const Certificate certificate = CertificateOf(
      "Tanh(Transpose[?p](?x)) => Transpose[?p](Tanh(?x))",
      "input x: float32[2,3,4]\n a = Transpose(x) {perm=[0,2,1]}\n z = Tanh(a)\n output z");
  EXPECT_EQ(certificate.tier, Tier::kExactForAnyFunction);
  EXPECT_THAT(certificate.functions, ElementsAre("Tanh"));
}

TEST(Certify, WhatAFunctionIsShowsInFloatsAlone) {
  const Certificate certificate = CertificateOf(
      "Mul(Exp(?x), Exp(?y)) => Exp(Add(?x, ?y))",
      "input x: float32[2,3]\n input y: float32[3]\n a = Exp(x)\n b = Exp(y)\n z = Mul(a, b)\n"
      " output z");
  EXPECT_EQ(certificate.tier, Tier::kNumeric);
  EXPECT_THAT(certificate.why_not_exact, HasSubstr("differs"));
  EXPECT_EQ(certificate.largest_error, 1e-12);
}

TEST(Certify, AWrongRuleHasACounterexample) {
  const Certificate certificate =
      CertificateOf("Add(Mul(?x, ?y), ?z) => Mul(?x, Add(?y, ?z))", kSum);
  EXPECT_EQ(certificate.tier, Tier::kRefuted);
  EXPECT_THAT(certificate.counterexample, HasSubstr("differs: Mul"));
  EXPECT_THAT(certificate.counterexample, HasSubstr("c: float32[2,3] = Add(a, b)"));
}

// In its own case it is right: both orders of axes are the same.
TEST(Certify, ARuleThatIsRightInOneShapeIsRefutedInAnother) {
  const Certificate certificate =
      CertificateOf("Transpose[?p](Transpose[?q](?x)) => Transpose[?q](Transpose[?p](?x))",
                    "input x: float32[2,2,2]\n a = Transpose(x) {perm=[1,0,2]}\n"
                    " z = Transpose(a) {perm=[1,0,2]}\n output z");
  EXPECT_EQ(certificate.tier, Tier::kRefuted);
}

// Of numbers it is right: type inference refuses a Concat of tensors whose rows are not equally
// many. It takes symbols that may be equal for equal, and a stride hides a row.
TEST(Certify, ARuleThatIsRightForAllNumbersIsRefutedAtSymbols) {
  constexpr char kRule[] =
      "Concat[axis=0](Conv[?c](?x, ?w), Conv[?c](?y, ?w))"
      " => Conv[?c](Concat[axis=0](?x, ?y), ?w)";
  const std::vector<model::Graph> graphs = {rules::ParseStatic(R"(graph g {
    input x: float32[1,2,6,3]
    input y: float32[1,2,6,3]
    const w: float32[2,2,1,1] = [1, 2, 3, 4]
    a = Conv(x, w) {strides=[2,1]}
    b = Conv(y, w) {strides=[2,1]}
    z = Concat(a, b) {axis=0}
    output z
  })")};
  const auto of_numbers = Certify(Text(kRule), graphs, {.instances = 40, .symbolic = 0, .seed = 1});
  ASSERT_OK(of_numbers.status());
  EXPECT_EQ(of_numbers->tier, Tier::kExact);
  const auto of_symbols =
      Certify(Text(kRule), graphs, {.instances = 10, .symbolic = 10, .seed = 1});
  ASSERT_OK(of_symbols.status());
  EXPECT_EQ(of_symbols->tier, Tier::kRefuted);
  EXPECT_THAT(of_symbols->counterexample, HasSubstr("fails: "));
}

// A symbol may be 0, and a Reshape that infers a size next to an empty axis fails. The operand is
// never empty if its sizes are numbers here.
TEST(Certify, GraphsThatHaveSymbolsAreTriedInSeveralSizes) {
  const std::vector<model::Graph> graphs = {rules::ParseStatic(
      "graph g { input x: float32[N,M,1]\n z = Squeeze(x) {axes=[2]}\n output z }")};
  const auto wrong =
      Certify(Text("Squeeze(?x) => Reshape[shape=[0,-1]](?x)"), graphs, {.symbolic = 10});
  ASSERT_OK(wrong.status());
  EXPECT_EQ(wrong->tier, Tier::kRefuted);
  EXPECT_EQ(wrong->instances, 0);
  const auto right =
      Certify(Text("Squeeze(?x) => Reshape[shape=[0,0]](?x)"), graphs, {.symbolic = 10});
  ASSERT_OK(right.status());
  EXPECT_EQ(right->tier, Tier::kExact);
  EXPECT_EQ(right->symbolic, 10);
}

TEST(Certify, TwoValuesThatBecomeEqualAreNamed) {
  const Certificate certificate =
      CertificateOf("Neg(?x) => ?x", "input x: float32[2]\n z = Neg(x)\n output z");
  EXPECT_EQ(certificate.tier, Tier::kRefuted);
  EXPECT_THAT(certificate.counterexample, HasSubstr("became equal"));
}

// An operator without a definition in the field, on the left alone.
TEST(Certify, WhatWasNotComparedIsNotExact) {
  const Certificate certificate = CertificateOf(
      "Neg(Neg(ReduceProd[?r](?x))) => ReduceProd[?r](?x)",
      "input x: float32[2,3]\n a = ReduceProd(x) {axes=[1]}\n b = Neg(a)\n z = Neg(b)\n output z");
  EXPECT_EQ(certificate.tier, Tier::kNumeric);
  EXPECT_THAT(certificate.why_not_exact, HasSubstr("ReduceProd"));
  EXPECT_EQ(certificate.exact, 0);
}

TEST(Certify, ExtremesChooseByAnyOrder) {
  EXPECT_EQ(CertificateOf("Relu(Max(?x, ?y)) => Max(Relu(?x), Relu(?y))",
                          "input x: float32[2,3]\n input y: float32[2,3]\n a = Max(x, y)\n"
                          " z = Relu(a)\n output z")
                .tier,
            Tier::kExactForAnyFunction);
  EXPECT_EQ(CertificateOf("Relu(ReduceMax[?r](?x)) => ReduceMax[?r](Relu(?x))",
                          "input x: float32[2,3]\n a = ReduceMax(x) {axes=[1]}\n z = Relu(a)\n"
                          " output z")
                .tier,
            Tier::kRefuted)
      << "the largest of nothing is -infinity, which Relu makes 0";
  EXPECT_EQ(
      CertificateOf("Max(?x, ?y) => Relu(?x)",
                    "input x: float32[2,3]\n input y: float32[2,3]\n z = Max(x, y)\n output z")
          .tier,
      Tier::kRefuted);
}

constexpr char kPools[] =
    "input x: float32[1,2,5,6]\n a = MaxPool(x) {kernel_shape=[3,3], pads=[1,1,1,1]}\n"
    " z = MaxPool(a) {kernel_shape=[3,3], pads=[1,1,1,1]}\n output z";

TEST(Certify, APoolOfAPoolIsAWiderPool) {
  EXPECT_EQ(CertificateOf("MaxPool[kernel_shape=[3,3], pads=[1,1,1,1]](MaxPool[kernel_shape=[3,3], "
                          "pads=[1,1,1,1]](?x)) => MaxPool[kernel_shape=[5,5], pads=[2,2,2,2]](?x)",
                          kPools)
                .tier,
            Tier::kExactForAnyFunction);
  EXPECT_EQ(CertificateOf("MaxPool[?p](MaxPool[?p](?x)) => MaxPool[?p](?x)", kPools).tier,
            Tier::kRefuted);
}

// Where x and y are nearly equal, most of the digits of x g - y g are rounding.
TEST(Certify, RoundingOfWhatCancelsRefutesNothing) {
  const std::vector<model::Graph> graphs = {
      rules::ParseStatic("graph g { input x: float16[1] input y: float16[1] input g: float16[3]"
                         " a = Mul(x, g) b = Mul(y, g) z = Sub(a, b) output z }")};
  const auto certificate = Certify(Text("Sub(Mul(?x, ?g), Mul(?y, ?g)) => Mul(Sub(?x, ?y), ?g)"),
                                   graphs, {.instances = 300, .symbolic = 10});
  ASSERT_OK(certificate.status());
  EXPECT_EQ(certificate->tier, Tier::kExact) << certificate->counterexample;
  EXPECT_EQ(certificate->instances, 300);
}

constexpr char kProduct[] =
    "input x: float32[2,3]\n input y: float32[3,4]\n z = MatMul(x, y)\n output z";

TEST(Certify, ARuleThatIsWrongByAMillionthIsRefuted) {
  for (const char* alpha : {"1.000001", "0.999999"}) {
    const Certificate certificate =
        CertificateOf(absl::StrCat("MatMul(?x, ?y) => Gemm[alpha=", alpha, "](?x, ?y)"), kProduct);
    EXPECT_EQ(certificate.tier, Tier::kRefuted) << alpha;
    EXPECT_THAT(certificate.counterexample, HasSubstr(" (by 1e-06)\n"));
  }
}

// A float32 next to 1 is as far away as this.
TEST(Certify, WhatIsOffByTheRoundingOfAConstantIsNumeric) {
  const Certificate certificate =
      CertificateOf("MatMul(?x, ?y) => Gemm[alpha=1.00000006](?x, ?y)", kProduct);
  EXPECT_EQ(certificate.tier, Tier::kNumeric) << certificate.counterexample;
  EXPECT_DOUBLE_EQ(certificate.largest_error, 1e-7);
  EXPECT_THAT(WhyNotHigher(certificate), HasSubstr("; in floats apart by 1e-07 at most"));
}

// What is left of z - x y may be a tenth of either, and is off by ten times the rounding.
TEST(Certify, WhatCancelsIsMeasuredByWhatItIsMadeOf) {
  const std::vector<model::Graph> graphs = {
      rules::ParseStatic("graph g { input x: float32[1,1] input y: float32[1,1]"
                         " input z: float32[1,1] a = MatMul(x, y) b = Sub(a, z) output b }")};
  const auto certificate =
      Certify(Text("Sub(MatMul(?x, ?y), ?z) => Sub(Gemm[alpha=1.00000006](?x, ?y), ?z)"), graphs,
              {.instances = 200, .symbolic = 0});
  ASSERT_OK(certificate.status());
  EXPECT_EQ(certificate->tier, Tier::kNumeric) << certificate->counterexample;
  EXPECT_EQ(certificate->instances, 200);
  const auto wrong =
      Certify(Text("Sub(MatMul(?x, ?y), ?z) => Sub(Gemm[alpha=1.000001](?x, ?y), ?z)"), graphs,
              {.instances = 20, .symbolic = 0});
  ASSERT_OK(wrong.status());
  EXPECT_EQ(wrong->tier, Tier::kRefuted);
}

Certificate CertificateOfGelu(const std::string& constant) {
  return CertificateOf(
      absl::StrCat("Mul(Mul(?x, ?half), Add(Erf(Mul(?x, ?root)), ?one)) => Gelu(?x)"
                   " if is(?half, 0.5) and is(?root, ",
                   constant,
                   ") and is(?one, 1) and has_rank(?half, 0) and has_rank(?root, 0)"
                   " and has_rank(?one, 0)"),
      absl::StrCat("input x: float32[2,3]\n const half: float32[] = [0.5]\n"
                   " const root: float32[] = [",
                   constant,
                   "]\n const one: float32[] = [1]\n a = Mul(x, half)\n b = Mul(x, root)\n"
                   " c = Erf(b)\n d = Add(c, one)\n z = Mul(a, d)\n output z"));
}

TEST(Certify, AConstantMayBeRoundedToItsTypeAndNoFurther) {
  const Certificate rounded = CertificateOfGelu("0.70710677");
  EXPECT_EQ(rounded.tier, Tier::kNumeric) << rounded.counterexample;
  EXPECT_GT(rounded.largest_error, 1e-9);
  EXPECT_LT(rounded.largest_error, 2e-7);
  EXPECT_EQ(CertificateOfGelu("0.7071075").tier, Tier::kRefuted) << "it is off by a millionth";
}

// Inputs are drawn around the numbers of the graph, and those that the rule adds.
TEST(Certify, ABoundThatOnlyLargeNumbersMeetIsFound) {
  EXPECT_EQ(CertificateOf("Clip[max=1000000.0, min=-1000000.0](?x) => ?x",
                          "input x: float32[2,3]\n z = Clip(x) {min=-1e6, max=1e6}\n output z")
                .tier,
            Tier::kRefuted);
  EXPECT_EQ(CertificateOf("Relu(?x) => Clip[max=1000000.0, min=0.0](?x)",
                          "input x: float32[2,3]\n z = Relu(x)\n output z")
                .tier,
            Tier::kRefuted);
}

TEST(Certify, ACastToANarrowerTypeRounds) {
  EXPECT_EQ(CertificateOf("Cast[to=1](Cast[to=10](?x)) => ?x",
                          "input x: float32[2,3]\n a = Cast(x) {to=10}\n z = Cast(a) {to=1}\n"
                          " output z")
                .tier,
            Tier::kRefuted);
  EXPECT_EQ(CertificateOf("Neg(Neg(?x)) => Cast[to=1](Cast[to=10](?x))",
                          "input x: float32[2,3]\n a = Neg(x)\n z = Neg(a)\n output z")
                .tier,
            Tier::kRefuted);
  EXPECT_EQ(CertificateOf("Cast[to=10](Cast[to=1](?x)) => ?x",
                          "input x: float16[2,3]\n a = Cast(x) {to=1}\n z = Cast(a) {to=10}\n"
                          " output z")
                .tier,
            Tier::kExact);
}

TEST(Certify, WhatIsNotComputedInDoubleIsNamed) {
  const Certificate certificate =
      CertificateOf("Relu(DequantizeLinear[?d](?q, ?s)) => Abs(Relu(DequantizeLinear[?d](?q, ?s)))",
                    "input q: int8[2,3]\n const s: float32[] = [0.3]\n a = DequantizeLinear(q, s)\n"
                    " z = Relu(a)\n output z");
  EXPECT_EQ(certificate.tier, Tier::kNumeric) << certificate.counterexample;
  EXPECT_THAT(certificate.rounding, ElementsAre("DequantizeLinear"));
  EXPECT_THAT(WhyNotHigher(certificate), HasSubstr(", not in double: DequantizeLinear"));
}

TEST(Certify, WhatHasNoValueIsNotExact) {
  const Certificate certificate =
      CertificateOf("Div(?x, ?y) => Div(Neg(Neg(?x)), ?y)",
                    "input x: float32[2,3]\n const c: float32[] = [0]\n z = Div(x, c)\n output z");
  EXPECT_EQ(certificate.undefined, certificate.instances - certificate.exact);
  EXPECT_GE(certificate.undefined, 5) << "most constants stay as they are";
}

TEST(Certify, APredicateThatIsLeftOpenMayBeEither) {
  const Certificate certificate = CertificateOf(
      "Where(Less(?a, ?b), ?x, ?y) => ?x",
      "input a: float32[2,3]\n input b: float32[2,3]\n c = Less(a, b)\n z = Where(c, a, b)\n"
      " output z");
  EXPECT_EQ(certificate.tier, Tier::kRefuted);
  EXPECT_THAT(certificate.why_not_exact, HasSubstr("differs"));
}

TEST(Certify, WithoutGraphsNothingIsKnown) {
  const auto certificate = Certify(Text("Neg(Neg(?x)) => ?x"), {}, {});
  ASSERT_OK(certificate.status());
  EXPECT_EQ(certificate->tier, Tier::kNotApplied);
}

TEST(Certify, ARuleThatNeverAppliesIsNotCertified) {
  EXPECT_EQ(CertificateOf("Sin(?x) => Cos(?x)", kSum).tier, Tier::kNotApplied);
}

TEST(WhyNotHigher, WhatKeptARuleFromApplyingIsNamed) {
  const auto why = [](const std::string& rule) {
    const Certificate certificate = CertificateOf(rule, kSum);
    EXPECT_EQ(certificate.tier, Tier::kNotApplied) << rule;
    return WhyNotHigher(certificate);
  };
  EXPECT_EQ(why("Sin(?x) => Cos(?x)"), "its left side is in none of the graphs (1 searched)");
  EXPECT_EQ(why("Add(Mul(?x, ?y), Neg(?z)) => ?x"),
            "its left side is in none of the graphs (1 searched): found Add and Mul, but not "
            "Neg(?z) where the rule has it");
  EXPECT_EQ(why("Mul(?x, ?x) => ?x"),
            "its left side is in none of the graphs (1 searched): found Mul, but ?x is not one "
            "value in both places");
  EXPECT_EQ(why("Mul(?x, ?y) => Mul(?y, ?x) if has_rank(?x, 7) and has_rank(?y, 2) and float(?x)"),
            "guards refuse its left side in 1 graph (1 searched): has_rank(?x, 7) in 1");
  EXPECT_THAT(why("Mul(?x, ?y) => Transpose[perm=[0,1,2,3]](?x)"),
              ContainsRegex("it matches in [0-9]+ of [0-9]+ graphs, but its right side cannot be "
                            "built there, or is there already"));
  const auto nothing = Certify(Text("Neg(Neg(?x)) => ?x"), {}, {});
  ASSERT_OK(nothing.status());
  EXPECT_EQ(WhyNotHigher(*nothing), "there was no graph to try it in");
}

TEST(WhyNotHigher, WhatKeptARuleFromBeingExactIsNamed) {
  const Certificate exponents = CertificateOf(
      "Mul(Exp(?x), Exp(?y)) => Exp(Add(?x, ?y))",
      "input x: float32[2,3]\n input y: float32[3]\n a = Exp(x)\n b = Exp(y)\n z = Mul(a, b)\n"
      " output z");
  EXPECT_THAT(
      WhyNotHigher(exponents),
      ContainsRegex("^differs: .*Exp.*; not exact in 10 of 10 graphs with numbers and 10 of "
                    "10 with symbols; left open: Exp; in floats apart by 1e-12 at most$"));
  const Certificate undefined =
      CertificateOf("Div(?x, ?y) => Div(Neg(Neg(?x)), ?y)",
                    "input x: float32[2,3]\n const c: float32[] = [0]\n z = Div(x, c)\n output z");
  EXPECT_EQ(undefined.why_undefined, "Div has no value here");
  EXPECT_EQ(
      WhyNotHigher(CertificateOf("Tanh(Neg(?x)) => Neg(Neg(Tanh(Neg(?x))))",
                                 "input x: float32[2]\n a = Neg(x)\n z = Tanh(a)\n output z")),
      "Tanh");
  const Certificate wrong =
      CertificateOf("Neg(?x) => ?x", "input x: float32[2]\n z = Neg(x)\n output z");
  EXPECT_THAT(WhyNotHigher(wrong),
              ContainsRegex("^differs: x and z [(]Neg[)] became equal [(]by [12]e[+]00[)]$"));
}

}  // namespace
}  // namespace quotient::prove
