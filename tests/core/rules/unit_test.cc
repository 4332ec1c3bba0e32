// How far the size of values is followed through constant factors and contractions.

#include "core/rules/unit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/domain/choices.h"

namespace quotient::rules {
namespace {

using domain::TensorEGraph;

constexpr char kHead[] = R"(graph g {
    input x: float32[2,4]
    input image: float32[1,3,8,8]
    const quarter: float32[] = [0.25]
    const eight: float32[4] = [8, -2, 1, 0]
    const zero: float32[] = [0]
    const w: float32[4,2] = [2, 1, -2, 1, 1, 1, 1, 1]
    const wt: float32[2,4] = [2, 1, -2, 1, 1, 1, 1, 1]
    const b: float32[2] = [3, 3]
    )";

// The graph with these lines behind kHead. Its output is y.
TensorEGraph GraphWith(absl::string_view lines) {
  return domain::Imported(domain::Parsed(absl::StrCat(kHead, lines, "\noutput y }")));
}

View ViewOf(const TensorEGraph& tensors) { return View(*tensors.domain, *tensors.egraph); }

double UnitOfY(absl::string_view lines) {
  const TensorEGraph tensors = GraphWith(lines);
  return UnitOf(ViewOf(tensors), domain::ClassNamed(tensors, "y"));
}

TEST(UnitOf, IsOneForWhatIsNotFollowed) {
  EXPECT_EQ(UnitOfY("y = Relu(x)"), 1);
  EXPECT_EQ(UnitOfY("y = Mul(x, x)"), 1);
  EXPECT_EQ(UnitOfY("s = Mul(x, quarter)\ny = Relu(s)"), 1);
}

TEST(UnitOf, FollowsConstantFactors) {
  EXPECT_EQ(UnitOfY("y = Mul(x, quarter)"), 0.25);
  EXPECT_EQ(UnitOfY("y = Mul(quarter, x)"), 0.25);
  EXPECT_EQ(UnitOfY("y = Div(x, quarter)"), 4);
  EXPECT_EQ(UnitOfY("y = Mul(x, eight)"), 8) << "the largest channel";
  EXPECT_EQ(UnitOfY("y = Div(x, eight)"), 1) << "the smallest that is not zero";
  EXPECT_EQ(UnitOfY("s = Mul(x, quarter)\ny = Mul(s, eight)"), 2);
  EXPECT_EQ(UnitOfY("y = Mul(x, zero)"), 1) << "zero has no size";
}

TEST(UnitOf, SummandsDoNotCount) {
  EXPECT_EQ(UnitOfY("s = Mul(x, quarter)\ny = Add(s, eight)"), 0.25);
  EXPECT_EQ(UnitOfY("s = Mul(x, quarter)\ny = Sub(s, eight)"), 0.25);
}

// The sum of n products of sizes around one is around sqrt(n).
TEST(UnitOf, ContractionsMultiplyByTheirWeights) {
  EXPECT_EQ(UnitOfY("y = MatMul(x, w)"), 2 * std::sqrt(4));
  EXPECT_EQ(UnitOfY("y = Gemm(x, w, b)"), 2 * std::sqrt(4));
  EXPECT_EQ(UnitOfY("y = Gemm(x, wt, b) {transB=1}"), 2 * std::sqrt(4));
  EXPECT_EQ(UnitOfY("y = Gemm(x, w, b) {alpha=0.125}"), 0.25 * std::sqrt(4));
  EXPECT_EQ(UnitOfY("s = Mul(x, quarter)\ny = MatMul(s, w)"), 0.5 * std::sqrt(4));
}

std::string Filter(const std::string& dims, int elements) {
  std::string text = absl::StrCat("const k: float32", dims, " = [0.5");
  for (int i = 1; i < elements; ++i) absl::StrAppend(&text, ", 0.25");
  return text + "]\n";
}

TEST(UnitOf, ConvolutionsAddUpTheWindow) {
  EXPECT_EQ(UnitOfY(Filter("[2,3,2,2]", 24) + "y = Conv(image, k)"), 0.5 * std::sqrt(12));
  EXPECT_EQ(UnitOfY(Filter("[3,1,2,2]", 12) + "y = Conv(image, k) {group=3}"), 0.5 * std::sqrt(4));
  EXPECT_EQ(UnitOfY(Filter("[3,2,2,2]", 24) + "y = ConvTranspose(image, k)"), 0.5 * std::sqrt(12));
}

TEST(UnitOf, LooksFourOperatorsBack) {
  std::string lines = "s0 = Mul(x, quarter)\n";
  for (int i = 1; i < 6; ++i) {
    absl::StrAppend(&lines, "s", i, " = Mul(s", i - 1, ", quarter)\n");
  }
  EXPECT_EQ(UnitOfY(lines + "y = Mul(s1, quarter)"), std::pow(0.25, 3));
  EXPECT_EQ(UnitOfY(lines + "y = Mul(s2, quarter)"), std::pow(0.25, 4));
  EXPECT_EQ(UnitOfY(lines + "y = Mul(s4, quarter)"), std::pow(0.25, 4));
}

TEST(UnitOf, TheSmallestFormCounts) {
  const TensorEGraph tensors = GraphWith("s = Mul(x, quarter)\nr = Relu(x)\ny = Add(s, r)");
  egraph::EGraph& graph = *tensors.egraph;
  const ClassId s = domain::ClassNamed(tensors, "s"), r = domain::ClassNamed(tensors, "r");
  EXPECT_EQ(UnitOf(ViewOf(tensors), r), 1);
  ASSERT_TRUE(*graph.Union(s, r));
  ASSERT_THAT(graph.Rebuild(), testing::IsOk());
  EXPECT_EQ(UnitOf(ViewOf(tensors), graph.Find(r)), 0.25);
}

TEST(UnitOfContraction, IsThatOfItsResult) {
  const TensorEGraph tensors = GraphWith("s = Mul(x, quarter)\ny = MatMul(s, w)");
  const View view = ViewOf(tensors);
  const ENodeId product = tensors.egraph->nodes(domain::ClassNamed(tensors, "y")).front();
  EXPECT_EQ(UnitOfContraction(view, view.word(product), domain::ClassNamed(tensors, "s"),
                              domain::ClassNamed(tensors, "w")),
            UnitOf(view, domain::ClassNamed(tensors, "y")));
}

TEST(IsShiftBeside, ComparesWithTheUnitButAtMostWithOne) {
  const TensorEGraph tensors = GraphWith("y = Add(x, eight)");
  const ClassData& eight = ViewOf(tensors).data(domain::ClassNamed(tensors, "eight"));
  EXPECT_TRUE(IsShiftBeside(eight, 1));
  EXPECT_TRUE(IsShiftBeside(eight, 0x1p-7));
  EXPECT_FALSE(IsShiftBeside(eight, 0x1p-8));
  EXPECT_TRUE(IsShiftBeside(eight, 0x1p30));
}

}  // namespace
}  // namespace quotient::rules
