#include "core/generate/rule_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/generate/small_universe.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

class RuleTextTest : public ::testing::Test {
 protected:
  TermId Term(const std::string& text) { return terms_.Parse(text).value(); }
  std::string Text(const std::string& left, const std::string& right, const RuleStyle& style) {
    return RuleText(terms_, Term(left), Term(right), style).value_or("none");
  }

  const Universe universe_ = SmallUniverse();
  Terms terms_{&universe_};
};

TEST_F(RuleTextTest, StylesSayHowMuchIsFixed) {
  const char* left = "ReduceMax[axes=[1]](Concat[axis=0](x, y))";
  const char* right = "Concat[axis=0](ReduceMax[axes=[1]](x), ReduceMax[axes=[1]](y))";
  const std::string general =
      "reducemax-concat: ReduceMax[?A](Concat[?B](?x, ?y)) => Concat[?B](ReduceMax[?A](?x), "
      "ReduceMax[?A](?y))";
  EXPECT_EQ(Text(left, right, {}), general);
  EXPECT_EQ(Text(left, right, {.same_types = true}), general + " if same(?x, ?y)");
  EXPECT_EQ(Text(left, right, {.axes = RuleStyle::Axes::kRelated}),
            general + " if two_axes(?A, ?B)");
  EXPECT_EQ(Text(left, right, {.axes = RuleStyle::Axes::kSame, .same_ranks = true}),
            general + " if along(?A, 1) and along(?B, 0) and has_rank(?x, 2) and has_rank(?y, 2)");
  const char* pool = "MaxPool[kernel_shape=[5,5], pads=[2,2,2,2]](Concat[axis=0](i, i))";
  EXPECT_EQ(Text(pool, pool, {.axes = RuleStyle::Axes::kFixed}),
            "maxpool-concat: MaxPool[?A](Concat[?B](?i, ?i)) => MaxPool[?A](Concat[?B](?i, ?i)) "
            "if along(?B, 0)");
  EXPECT_EQ(Text(left, right, {.any_words = false, .has_elements = true}),
            "reducemax-concat: ReduceMax[axes=[1]](Concat[axis=0](?x, ?y)) => "
            "Concat[axis=0](ReduceMax[axes=[1]](?x), ReduceMax[axes=[1]](?y)) "
            "if has_elements(?x) and has_elements(?y)");
}

TEST_F(RuleTextTest, AWordThatTheLeftSideLacksIsWrittenOut) {
  EXPECT_EQ(Text("Neg(Concat[axis=0](x, y))", "Concat[axis=1](x, y)", {}),
            "neg-concat: Neg(Concat[?A](?x, ?y)) => Concat[axis=1](?x, ?y)");
}

TEST_F(RuleTextTest, SomeEquationsAreNoRules) {
  EXPECT_EQ(Text("x", "Neg(x)", {}), "none");
  EXPECT_EQ(Text("Relu(x)", "Add(x, y)", {}), "none");
}

TEST_F(RuleTextTest, RenamedEquationsAreOne) {
  const std::string text =
      Canonical(terms_, Term("Concat[axis=0](y, x)"), Term("Neg(Concat[axis=0](y, x))")).text;
  EXPECT_EQ(text, "Concat[axis=0](x, y) = Neg(Concat[axis=0](x, y))");
  EXPECT_EQ(Canonical(terms_, Term("Neg(Concat[axis=0](x, y))"), Term("Concat[axis=0](x, y)")).text,
            text);
}

}  // namespace
}  // namespace quotient::generate
