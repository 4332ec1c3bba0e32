// Right equations are proved as generally as they hold, and wrong ones are refuted, even if they
// hold in the shapes of a universe.

#include "core/generate/prover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/generate/small_universe.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class ProverTest : public ::testing::Test {
 protected:
  // The text of the rule, or "refuted".
  std::string RuleOf(const std::string& left, const std::string& right) {
    const auto proof =
        Prove(terms_, terms_.Parse(left).value(), terms_.Parse(right).value(), {.instances = 6});
    EXPECT_OK(proof.status());
    if (!proof.ok() || !*proof) return "refuted";
    tier_ = (*proof)->certificate.tier;
    return (*proof)->rule;
  }

  const Universe universe_ = SmallUniverse();
  Terms terms_{&universe_};
  prove::Tier tier_ = prove::Tier::kNotApplied;
};

TEST_F(ProverTest, WhatHoldsEverywhereNeedsNoGuards) {
  EXPECT_EQ(RuleOf("Neg(Add(x, y))", "Add(Neg(x), Neg(y))"),
            "neg-add: Neg(Add(?x, ?y)) => Add(Neg(?x), Neg(?y))");
  EXPECT_EQ(tier_, prove::Tier::kExact);
  EXPECT_EQ(RuleOf("Concat[axis=1](Relu(x), Relu(y))", "Relu(Concat[axis=1](x, y))"),
            "concat-relu-relu: Concat[?A](Relu(?x), Relu(?y)) => Relu(Concat[?A](?x, ?y))");
  EXPECT_EQ(tier_, prove::Tier::kExactForAnyFunction);
}

TEST_F(ProverTest, WhatHoldsForSomeAxesIsGuarded) {
  EXPECT_THAT(
      RuleOf("Concat[axis=0](MatMul(x, w), MatMul(y, w))", "MatMul(Concat[axis=0](x, y), w)"),
      HasSubstr("=> MatMul(Concat[?A](?x, ?y), ?w)"));
  EXPECT_THAT(RuleOf("Neg(ReduceMax[axes=[1]](Concat[axis=0](x, y)))",
                     "Concat[axis=0](Neg(ReduceMax[axes=[1]](x)), Neg(ReduceMax[axes=[1]](y)))"),
              HasSubstr(" if two_axes(?A, ?B)"));
}

// Each operator may have any attributes while the other one has those of the universe, but not
// both: without the reduced axis the others have other numbers, which needs three axes to show.
TEST_F(ProverTest, OperatorsAreVariedTogether) {
  EXPECT_THAT(RuleOf("ReduceMax[axes=[1]](Concat[axis=0](x, y))",
                     "Concat[axis=0](ReduceMax[axes=[1]](x), ReduceMax[axes=[1]](y))"),
              EndsWith(" if two_axes(?A, ?B) and has_rank(?x, 2) and has_rank(?y, 2)"));
}

// The MaxPool of some rows of an image is not that of the image, unless its windows are rows.
TEST(ProverOfPools, AnyPoolOfAnySliceIsRefused) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Universe> universes, UniversesNamed("pools"));
  Terms terms(&universes[0]);
  const std::string slice = "Slice[axes=[1], ends=[1], starts=[0]]";
  const std::string pool = "MaxPool[kernel_shape=[3,3], pads=[1,1,1,1]]";
  ASSERT_OK_AND_ASSIGN(const TermId left, terms.Parse(pool + "(" + slice + "(x))"));
  ASSERT_OK_AND_ASSIGN(const TermId right, terms.Parse(slice + "(" + pool + "(x))"));
  ASSERT_OK_AND_ASSIGN(const auto proof, Prove(terms, left, right, {.instances = 6}));
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->rule,
            "maxpool-slice: MaxPool[?A](Slice[?B](?x)) => Slice[?B](MaxPool[?A](?x)) "
            "if along(?B, 1) and has_rank(?x, 4)");
}

// Rows of a product are not those of its right factor. Both sides have types only where the Slice
// takes all rows of the factor, as those of a short one.
TEST(ProverOfSlices, OfAProductAreOfItsColumns) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Universe> universes, UniversesNamed("taso-matrices"));
  Terms terms(&universes[0]);
  const std::string slice = "Slice[axes=[1], ends=[2], starts=[0]]";
  ASSERT_OK_AND_ASSIGN(const TermId left, terms.Parse(slice + "(MatMul(x, u))"));
  ASSERT_OK_AND_ASSIGN(const TermId right, terms.Parse("MatMul(x, " + slice + "(u))"));
  ASSERT_OK_AND_ASSIGN(const auto proof, Prove(terms, left, right, {.instances = 6}));
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->rule,
            "slice-matmul: Slice[?A](MatMul(?x, ?u)) => MatMul(?x, Slice[?A](?u)) "
            "if along(?A, 1) and has_rank(?x, 2) and has_rank(?u, 2)");
}

// A Transpose may leave all axes where they are.
TEST(ProverOfTransposes, AnyOrderOfAxesIsOneToo) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Universe> universes, UniversesNamed("taso-matrices"));
  Terms terms(&universes[0]);
  ASSERT_OK_AND_ASSIGN(const TermId left,
                       terms.Parse("Transpose[perm=[1,0]](Concat[axis=0](u, x))"));
  ASSERT_OK_AND_ASSIGN(
      const TermId right,
      terms.Parse("Concat[axis=1](Transpose[perm=[1,0]](u), Transpose[perm=[1,0]](x))"));
  ASSERT_OK_AND_ASSIGN(const auto proof, Prove(terms, left, right, {.instances = 6}));
  ASSERT_TRUE(proof.has_value());
  EXPECT_THAT(proof->rule, HasSubstr("Transpose[perm=[1,0]](Concat"));
}

TEST_F(ProverTest, WhatFailsForNothingAsksForElements) {
  EXPECT_THAT(RuleOf("ReduceMax[axes=[1]](Relu(x))", "Relu(ReduceMax[axes=[1]](x))"),
              EndsWith(" if has_elements(?x)"));
}

TEST_F(ProverTest, WrongEquationsAreRefuted) {
  EXPECT_EQ(RuleOf("Relu(Add(x, y))", "Add(Relu(x), Relu(y))"), "refuted");
  EXPECT_EQ(RuleOf("Concat[axis=0](x, y)", "Concat[axis=0](y, x)"), "refuted");
  // Numbers between 0 and 1 are larger than their squares, those beyond 1 are not.
  EXPECT_EQ(RuleOf("Max(x, Mul(Relu(x), Relu(x)))", "Relu(x)"), "refuted");
  // In an image of 4x4, a window of 9x9 is everything.
  EXPECT_EQ(RuleOf("MaxPool[kernel_shape=[5,5], pads=[2,2,2,2]](MaxPool[kernel_shape=[5,5], "
                   "pads=[2,2,2,2]](i))",
                   "Max(i, GlobalMaxPool(i))"),
            "refuted");
}

TEST_F(ProverTest, NoRuleIsMadeOfAVariable) { EXPECT_EQ(RuleOf("x", "Neg(Neg(x))"), "refuted"); }

}  // namespace
}  // namespace quotient::generate
