#include "core/report/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/report/report.h"
#include "tests/core/report/example_report.h"

namespace quotient::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A chain of blocks Conv -> BatchNormalization -> Relu, of which a rewrite removes the middle.
std::vector<DrawnNode> Blocks(int count, bool has_middle) {
  std::vector<DrawnNode> nodes;
  for (int i = 0; i < count; ++i) {
    const auto add = [&](absl::string_view op, bool changed) {
      const int last = static_cast<int>(nodes.size()) - 1;
      nodes.push_back({absl::StrCat("<", op, i, ">"), std::string(op),
                       last < 0 ? std::vector<int>{} : std::vector<int>{last}, changed, 1});
    };
    add("Conv", false);
    if (has_middle) add("BatchNormalization", true);
    add("Relu", false);
  }
  return nodes;
}

TEST(FindChangesTest, PlacesThatAreAlikeAreListedOnce) {
  const std::vector<Change> changes = FindChanges(Blocks(12, true), Blocks(12, false));
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].places, 12);
  EXPECT_THAT(changes[0].before, ElementsAre(1));
  EXPECT_THAT(changes[0].after, IsEmpty());
}

TEST(FindChangesTest, WhatFeedsTheSameInputIsOnePlace) {
  // x feeds Exp and Log, whose readers are inputs of one Add: two places, though Add reads both.
  const std::vector<DrawnNode> before = {{"x", "Relu", {}, false},
                                         {"exp", "Exp", {0}, true},
                                         {"log", "Log", {0}, true},
                                         {"sum", "Add", {1, 2}, false}};
  const std::vector<DrawnNode> after = {{"x", "Relu", {}, false},
                                        {"e2", "Sigmoid", {0}, true},
                                        {"l2", "Tanh", {0}, true},
                                        {"sum", "Add", {1, 2}, false}};
  const std::vector<Change> changes = FindChanges(before, after);
  ASSERT_EQ(changes.size(), 2);
  EXPECT_THAT(changes[0].before, ElementsAre(1));
  EXPECT_THAT(changes[0].after, ElementsAre(1));
  EXPECT_THAT(changes[1].before, ElementsAre(2));
  EXPECT_THAT(changes[1].after, ElementsAre(2));
}

// A Concat of other inputs than before has no input that is the same one.
TEST(FindChangesTest, WhatFeedsANodeOfOtherInputsIsOnePlace) {
  const std::vector<DrawnNode> before = {
      {"a", "Relu", {}, true, 1}, {"b", "Relu", {}, true, 1}, {"c", "Concat", {0, 1}, false, 1}};
  const std::vector<DrawnNode> after = {{"x", "Sigmoid", {}, true, 1},
                                        {"c", "Concat", {0}, false, 1}};
  const std::vector<Change> changes = FindChanges(before, after);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_THAT(changes[0].before, ElementsAre(0, 1));
  EXPECT_THAT(changes[0].after, ElementsAre(0));
}

TEST(FindChangesTest, NodesOfOneNameAreOnePlace) {
  const std::vector<Change> changes =
      FindChanges({{"a", "Conv", {}, true}, {"b", "Relu", {}, true}},
                  {{"b", "Clip", {}, true}, {"a", "Gemm", {}, true}});
  ASSERT_EQ(changes.size(), 2);
  EXPECT_THAT(changes[0].after, ElementsAre(1));
  EXPECT_THAT(changes[1].after, ElementsAre(0));
}

TEST(FindChangesTest, WhatMakesTheOutputIsOnePlace) {
  const std::vector<Change> changes =
      FindChanges({{"x", "Relu", {}, false}, {"a", "Exp", {0}, true}, {"b", "Log", {1}, true}},
                  {{"x", "Relu", {}, false}, {"c", "Identity", {0}, true}});
  ASSERT_EQ(changes.size(), 1);
  EXPECT_THAT(changes[0].before, ElementsAre(1, 2));
  EXPECT_THAT(changes[0].after, ElementsAre(1));
}

TEST(FindChangesTest, PlacesThatAreJoinedInAnotherWayStayApart) {
  const auto pair = [](std::vector<int> inputs) {
    return std::vector<DrawnNode>{{"x", "Relu", {}, false},   {"a", "Mul", {0, 0}, true},
                                  {"b", "Mul", inputs, true}, {"c", "Relu", {2}, false},
                                  {"d", "Mul", {3, 3}, true}, {"e", "Mul", {4, 4}, true}};
  };
  EXPECT_EQ(FindChanges(pair({1, 1}), {}).size(), 1);
  EXPECT_EQ(FindChanges(pair({0, 1}), {}).size(), 2);
}

TEST(FindChangesTest, InputsThatAreNoneAreIgnored) {
  const std::vector<DrawnNode> odd = {{"a", "Relu", {5, -1, 0}, true, 1}};
  ASSERT_EQ(FindChanges(odd, odd).size(), 1);
  EXPECT_EQ(Excerpt(odd, {0}).size(), 1);
  EXPECT_THAT(FindChanges({}, {}), IsEmpty());
}

TEST(ExcerptTest, HasTheNeighboursAndNoOthers) {
  const std::vector<DrawnNode> excerpt = Excerpt(Blocks(3, true), {4});
  ASSERT_EQ(excerpt.size(), 3);
  EXPECT_EQ(excerpt[0].name, "<Conv1>");
  EXPECT_THAT(excerpt[0].inputs, IsEmpty());
  EXPECT_THAT(excerpt[1].inputs, ElementsAre(0));
  EXPECT_EQ(excerpt[2].name, "<Relu1>");
  EXPECT_THAT(excerpt[2].inputs, ElementsAre(1));
}

TEST(ChangesSectionTest, ShowsBeforeBesideAfter) {
  Report report = Example();
  report.drawn_before = Blocks(12, true);
  report.drawn_after = Blocks(12, false);
  const std::string html = ToHtml(report);
  EXPECT_THAT(html, HasSubstr("12 nodes became 0 nodes; the other 24 are the same"));
  EXPECT_THAT(html, HasSubstr("<b>x 12</b>, first at <code>&lt;BatchNormalization0&gt;</code>"));
  EXPECT_THAT(html, HasSubstr("<figcaption>after</figcaption><p class=\"soft\">nothing</p>"));
  EXPECT_THAT(html, Not(HasSubstr("BatchNormalization1&gt;")));
}

}  // namespace
}  // namespace quotient::report
