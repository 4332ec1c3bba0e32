#include "core/pricing/attention_enodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/pricing/pricing_fixture.h"

namespace quotient::pricing {
namespace {

using egraph::ENodeId;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kInputs[] = R"(
  input q: float32[2,5,4]
  input k: float32[2,4,6]
  input v: float32[2,6,4]
  input mask: float32[2,5,6]
  const eight: float32[] = [8]
  const quarter: float32[] = [0.25]
)";

class AttentionENodesTest : public PricingTest {
 protected:
  // The attentions that end in y, which is an output of a graph with these nodes.
  std::vector<AttentionENodes> Find(absl::string_view nodes) {
    Import(absl::StrCat(kInputs, nodes, "\noutput y"));
    return FindAttentions(tensors(), ENode("y"));
  }
};

TEST_F(AttentionENodesTest, IsTwoProductsWithASoftmaxBetweenThem) {
  const auto found = Find(R"(s = MatMul(q, k)
                             p = Softmax(s) {axis=2}
                             y = MatMul(p, v))");
  ASSERT_THAT(found, SizeIs(1));
  const AttentionENodes& attention = found[0];
  EXPECT_EQ(attention.scores, ENode("s"));
  EXPECT_EQ(attention.logits, ENode("s"));
  EXPECT_EQ(attention.softmax, ENode("p"));
  EXPECT_EQ(attention.weighted, ENode("y"));
  EXPECT_FALSE(attention.sum.valid());
  EXPECT_EQ(attention.scale, 1);
  for (const ENodeId transpose : attention.transposes) EXPECT_FALSE(transpose.valid());
}

TEST_F(AttentionENodesTest, TheMaskIsTheOtherSummandOnEitherSide) {
  for (const int mask : {0, 1}) {
    const auto found =
        Find(absl::StrCat("s = MatMul(q, k)\nm = Add(", mask == 0 ? "mask, s" : "s, mask",
                          ")\np = Softmax(m) {axis=2}\ny = MatMul(p, v)"));
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].sum, ENode("m"));
    EXPECT_EQ(found[0].mask, mask);
    EXPECT_EQ(found[0].logits, ENode("m"));
    EXPECT_EQ(found[0].scores, ENode("s"));
  }
}

TEST_F(AttentionENodesTest, AConstantFactorOrDivisorIsTheScale) {
  struct Scaling {
    const char* node;
    double scale;
  };
  for (const Scaling& scaling :
       {Scaling{"Mul(s, quarter)", 0.25}, {"Mul(quarter, s)", 0.25}, {"Div(s, eight)", 0.125}}) {
    const auto found = Find(absl::StrCat("s = MatMul(q, k)\nd = ", scaling.node,
                                         "\np = Softmax(d) {axis=2}\ny = MatMul(p, v)"));
    ASSERT_THAT(found, SizeIs(1)) << scaling.node;
    EXPECT_EQ(found[0].scale, scaling.scale) << scaling.node;
    EXPECT_EQ(found[0].logits, ENode("d")) << scaling.node;
    EXPECT_EQ(found[0].scores, ENode("s")) << scaling.node;
  }
}

TEST_F(AttentionENodesTest, ScaledScoresMayBeMasked) {
  const auto found = Find(R"(s = MatMul(q, k)
                             d = Div(s, eight)
                             m = Add(d, mask)
                             p = Softmax(m) {axis=2}
                             y = MatMul(p, v))");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].scale, 0.125);
  EXPECT_EQ(found[0].sum, ENode("m"));
  EXPECT_EQ(found[0].logits, ENode("m"));
}

TEST_F(AttentionENodesTest, WhatIsNoFiniteNumberIsNoScale) {
  for (const char* const scaling :
       {"Div(eight, s)", "Mul(s, number)", "Mul(s, two_numbers)", "Div(s, zero)", "Div(s, tiny)"}) {
    EXPECT_THAT(Find(absl::StrCat("input number: float32[]\n"
                                  "const two_numbers: float32[2,1,1] = [1, 2]\n"
                                  "const zero: float32[] = [0]\nconst tiny: float32[] = [1e-40]\n"
                                  "s = MatMul(q, k)\nd = ",
                                  scaling, "\np = Softmax(d) {axis=2}\ny = MatMul(p, v)")),
                IsEmpty())
        << scaling;
  }
}

TEST_F(AttentionENodesTest, TheSoftmaxIsAlongTheKeys) {
  for (const int axis : {0, 1}) {
    EXPECT_THAT(
        Find(absl::StrCat("s = MatMul(q, k)\np = Softmax(s) {axis=", axis, "}\ny = MatMul(p, v)")),
        IsEmpty());
  }
  EXPECT_THAT(Find("s = MatMul(q, k)\np = Softmax(s)\ny = MatMul(p, v)"), SizeIs(1));
}

TEST_F(AttentionENodesTest, TheSoftmaxIsTheFirstFactorOfTheLastProduct) {
  EXPECT_THAT(Find(R"(input other: float32[2,3,5]
                      s = MatMul(q, k)
                      p = Softmax(s)
                      y = MatMul(other, p))"),
              IsEmpty());
  EXPECT_THAT(Find("s = MatMul(q, k)\ny = Softmax(s)"), IsEmpty()) << "it ends in no product";
  EXPECT_THAT(Find("s = Add(mask, mask)\np = Softmax(s)\ny = MatMul(p, v)"), IsEmpty())
      << "nothing is the product of queries and keys";
}

TEST_F(AttentionENodesTest, TransposesOfTheThreeOperandsAreFound) {
  const auto found = Find(R"(input rows: float32[2,6,4]
                             input columns: float32[2,4,6]
                             queries = Transpose(k) {perm=[0,2,1]}
                             keys = Transpose(rows) {perm=[0,2,1]}
                             values = Transpose(columns) {perm=[0,2,1]}
                             s = MatMul(queries, keys)
                             p = Softmax(s)
                             y = MatMul(p, values))");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].transposes[0], ENode("queries"));
  EXPECT_EQ(found[0].transposes[1], ENode("keys"));
  EXPECT_EQ(found[0].transposes[2], ENode("values"));
  const auto some = Find(R"(input rows: float32[2,6,4]
                            keys = Transpose(rows) {perm=[0,2,1]}
                            s = MatMul(q, keys)
                            p = Softmax(s)
                            y = MatMul(p, v))");
  ASSERT_THAT(some, SizeIs(1));
  EXPECT_FALSE(some[0].transposes[0].valid());
  EXPECT_EQ(some[0].transposes[1], ENode("keys"));
  EXPECT_FALSE(some[0].transposes[2].valid());
}

// A rule found another product that is equal to the scaled scores.
TEST_F(AttentionENodesTest, EveryWayThroughTheEGraphIsOne) {
  Find(R"(const scaled_keys: float32[2,4,6] = random(1)
          s = MatMul(q, k)
          d = Div(s, eight)
          p = Softmax(d)
          y = MatMul(p, v)
          kept = Neg(scaled_keys)
          output kept)");
  const ENodeId other = Rewrite("d", "MatMul", {Class("q"), Class("scaled_keys")});
  const auto found = FindAttentions(tensors(), ENode("y"));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].scores, other);
  EXPECT_EQ(found[0].scale, 1);
  EXPECT_EQ(found[1].scores, ENode("s"));
  EXPECT_EQ(found[1].scale, 0.125);
}

}  // namespace
}  // namespace quotient::pricing
