#include "core/domain/facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/domain/choices.h"

namespace quotient::domain {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const Facts& FactsOf(const TensorEGraph& tensors, absl::string_view value) {
  return tensors.domain->data(*tensors.egraph, ClassNamed(tensors, value)).facts;
}

TEST(FactsOfConstant, SeesSignsAndInfinities) {
  EXPECT_TRUE(FactsOfConstant(testing::Floats({2}, {1, 2})).positive());
  EXPECT_TRUE(FactsOfConstant(testing::Floats({2}, {0, 2})).nonnegative());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({2}, {0, 2})).positive());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({2}, {-1, 2})).nonnegative());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({1}, {NAN})).finite);
  EXPECT_FALSE(FactsOfConstant(testing::Floats({1}, {NAN})).softmax_safe);
  EXPECT_FALSE(FactsOfConstant(testing::Floats({2}, {1, kInfinity})).softmax_safe);
}

TEST(FactsOfConstant, MaskIsSafeIfEveryRowHasAFiniteElement) {
  const Facts safe = FactsOfConstant(testing::Floats({2, 2}, {0, -kInfinity, -kInfinity, 0}));
  EXPECT_FALSE(safe.finite);
  EXPECT_TRUE(safe.softmax_safe);
  const Facts row = FactsOfConstant(testing::Floats({2, 2}, {0, 0, -kInfinity, -kInfinity}));
  EXPECT_FALSE(row.softmax_safe);
}

TEST(Facts, FollowOperators) {
  const TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2,4]
    input y: float32[2,4]
    const e: float32[] = [0.001]
    square = Mul(x, x)
    product = Mul(x, y)
    shifted = Add(square, e)
    root = Sqrt(shifted)
    quotient = Div(y, root)
    log = Log(x)
    log_root = Log(root)
    exp = Exp(x)
    bare_root = Sqrt(y)
    ratio = Div(x, y)
    relu = Relu(log)
    output square, product, root, quotient, log, log_root, exp, bare_root, ratio, relu
  })"));
  EXPECT_TRUE(FactsOf(tensors, "square").nonnegative());
  EXPECT_FALSE(FactsOf(tensors, "product").nonnegative());
  EXPECT_TRUE(FactsOf(tensors, "shifted").positive());
  EXPECT_TRUE(FactsOf(tensors, "root").positive());
  EXPECT_TRUE(FactsOf(tensors, "root").finite);
  EXPECT_TRUE(FactsOf(tensors, "quotient").finite);
  EXPECT_TRUE(FactsOf(tensors, "log_root").finite);
  for (const char* unbounded : {"log", "exp", "bare_root", "ratio", "relu"}) {
    EXPECT_FALSE(FactsOf(tensors, unbounded).finite) << unbounded;
  }
  EXPECT_TRUE(FactsOf(tensors, "relu").nonnegative());
}

TEST(Facts, SoftmaxOfSafeRowsIsFiniteAlongTheLastAxisOnly) {
  const TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2,2]
    const mask: float32[2,2] = [0, -inf, -inf, 0]
    a = Add(x, mask)
    last = Softmax(a)
    first = Softmax(a) {axis=0}
    output last, first
  })"));
  EXPECT_TRUE(FactsOf(tensors, "last").finite);
  EXPECT_FALSE(FactsOf(tensors, "first").finite);
}

TEST(Facts, LearnFromUnions) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Log(x)
    b = Relu(x)
    c = Exp(a)
    d = Neg(a)
    output b, c, d
  })"));
  EXPECT_FALSE(FactsOf(tensors, "d").finite);
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "a"), ClassNamed(tensors, "b"), 1));
  ASSERT_OK(tensors.egraph->Rebuild());
  EXPECT_TRUE(FactsOf(tensors, "a").finite);
  EXPECT_TRUE(FactsOf(tensors, "d").finite) << "news reach the parents";
}

}  // namespace
}  // namespace quotient::domain
