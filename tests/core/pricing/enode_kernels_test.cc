#include "core/pricing/enode_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/kernels/fusion.h"
#include "tests/core/pricing/pricing_fixture.h"

namespace quotient::pricing {
namespace {

using ::testing::ElementsAre;

class ENodeKernelsTest : public PricingTest {
 protected:
  SequenceHash::Value Hash(absl::string_view value) {
    return kernels().HashOf(ENode(value)).value();
  }
  int Kernel(absl::string_view value) { return ContentOf(value).kernel; }
  // Whether two values are told apart by their hashes, and by their kernels, which is the reason.
  void ExpectDifferent(absl::string_view a, absl::string_view b) {
    EXPECT_NE(Hash(a), Hash(b)) << a << ", " << b;
    EXPECT_NE(Kernel(a), Kernel(b)) << a << ", " << b;
  }
};

TEST_F(ENodeKernelsTest, EqualWorkOnOtherValuesIsOneContentAndOneKernel) {
  Import(R"(input x: float32[4,8]
            input z: float32[4,8]
            a = Softmax(x) {axis=1}
            b = Softmax(z) {axis=1}
            output a, b)");
  EXPECT_EQ(Hash("a"), Hash("b"));
  EXPECT_GE(Kernel("a"), 0);
  EXPECT_EQ(Kernel("a"), Kernel("b"));
}

TEST_F(ENodeKernelsTest, WhatAKernelDependsOnIsPartOfTheContent) {
  Import(R"(input x: float32[4,8]
            input wide: float32[4,9]
            input half: float16[4,8]
            input v: float32[8,8]
            const w: float32[8,8] = random(1)
            rows = Softmax(x) {axis=1}
            columns = Softmax(x) {axis=0}
            wider = Softmax(wide) {axis=1}
            halves = Softmax(half) {axis=1}
            tanh = Tanh(x)
            by_weights = MatMul(x, w)
            by_values = MatMul(x, v)
            output rows, columns, wider, halves, tanh, by_weights, by_values)");
  for (const char* const other : {"columns", "wider", "halves", "tanh"}) {
    ExpectDifferent("rows", other);
  }
  ExpectDifferent("by_weights", "by_values");
}

// A square is a product, and a general power is not.
TEST_F(ENodeKernelsTest, OfConstantsOnlyAnExponentCounts) {
  Import(R"(input x: float32[4,8]
            const two: float32[] = [2]
            const three: float32[] = [3]
            square = Pow(x, two)
            cube = Pow(x, three)
            double = Mul(x, two)
            triple = Mul(x, three)
            output square, cube, double, triple)");
  ExpectDifferent("square", "cube");
  EXPECT_EQ(SpecOf("square").attributes.GetFloat(kernels::kExponentAttribute, 0), 2);
  EXPECT_EQ(SpecOf("cube").attributes.GetFloat(kernels::kExponentAttribute, 0), 3);
  EXPECT_EQ(Hash("double"), Hash("triple"));
  EXPECT_EQ(Kernel("double"), Kernel("triple"));
}

// Behind a convolution a value lies channels last.
TEST_F(ENodeKernelsTest, TheOrderInMemoryIsPartOfTheContent) {
  Import(R"(input x: float32[1,16,6,6]
            input plain: float32[1,16,6,6]
            const w: float32[16,16,1,1] = random(1)
            c = Conv(x, w)
            behind = Relu(c)
            alone = Relu(plain)
            output behind, alone)");
  ASSERT_EQ(SpecOf("behind").inputs[0].layout, kernels::Layout::kChannelsLast);
  ExpectDifferent("behind", "alone");
}

TEST_F(ENodeKernelsTest, ABiasIsNotPricedButTheOperandsOfAProductAre) {
  Import(R"(input x: float32[1,3,6,6]
            input m: float32[4,8]
            const w: float32[5,3,1,1] = random(1)
            const b: float32[5] = random(2)
            const v: float32[8,8] = random(3)
            const u: float32[8] = random(4)
            bare = Conv(x, w)
            biased = Conv(x, w, b)
            gemm = Gemm(m, v, u)
            sum = Add(m, u)
            output bare, biased, gemm, sum)");
  EXPECT_EQ(Kernel("bare"), Kernel("biased"));
  EXPECT_EQ(SpecOf("biased").inputs.size(), 2u);
  EXPECT_EQ(SpecOf("gemm").inputs.size(), 2u);
  EXPECT_EQ(SpecOf("sum").inputs.size(), 2u);
}

TEST_F(ENodeKernelsTest, ContractionsAndElementwiseNodesCanHaveAnEpilogueAndTheLatterBeOne) {
  Import(R"(input x: float32[4,8]
            const w: float32[8,8] = random(1)
            m = MatMul(x, w)
            t = Tanh(x)
            s = Softmax(x) {axis=1}
            output m, t, s)");
  const auto roles = [this](absl::string_view value) {
    const ENodeContent content = ContentOf(value);
    return std::vector<bool>{content.main, content.elementwise};
  };
  EXPECT_THAT(roles("m"), ElementsAre(true, false));
  EXPECT_THAT(roles("t"), ElementsAre(true, true));
  EXPECT_THAT(roles("s"), ElementsAre(false, false));
}

TEST_F(ENodeKernelsTest, NothingRunsForViewsAndForWhatFolds) {
  Import(R"(input x: float32[4,8]
            const w: float32[8,8] = random(1)
            view = Flatten(x) {axis=0}
            folded = Tanh(w)
            y = MatMul(x, folded)
            output view, y)");
  for (const char* const value : {"view", "folded"}) {
    const ENodeContent content = ContentOf(value);
    EXPECT_EQ(content.kernel, -1) << value;
    EXPECT_TRUE(content.is_static) << value;
  }
}

// A rule may compute something of a value whose size only an opaque node knows.
TEST_F(ENodeKernelsTest, WithoutSizesNoCostIsKnown) {
  Import(R"(input x: float32[4,8]
            a = Opaque "Foo" (x)
            b = Tanh(x)
            output a, b)");
  const egraph::ENodeId relu = Rewrite("", "Relu", {Class("a")});
  const ENodeContent content = kernels().ContentOf(relu, kernels().HashOf(relu));
  EXPECT_EQ(content.kernel, -1);
  EXPECT_FALSE(content.is_static);
}

TEST_F(ENodeKernelsTest, InputsThatAreLeftOutArePartOfAKernelOfKnownSize) {
  Import(R"(input x: float32[4,8]
            const least: float32[] = [0]
            const most: float32[] = [6]
            above = Clip(x, least)
            between = Clip(x, _, most)
            output above, between)");
  EXPECT_TRUE(ContentOf("between").is_static);
  EXPECT_GE(Kernel("between"), 0);
  ExpectDifferent("above", "between");
}

}  // namespace
}  // namespace quotient::pricing
