#include "core/report/like_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace quotient::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "name text" for each group.
std::vector<std::string> GroupsOf(const std::vector<NodeCost>& nodes) {
  std::vector<const NodeCost*> pointers;
  for (const NodeCost& node : nodes) pointers.push_back(&node);
  std::vector<std::string> texts;
  for (const LikeNodes& group : GroupLikeNodes(pointers)) {
    texts.push_back(group.first->name + TimesText(group));
  }
  return texts;
}

const NodeCost kNode = {"n", "Conv", 2.0, 1.0, "measured", "estimated"};

// The node with one field changed.
template <typename Field, typename Value>
NodeCost With(Field NodeCost::*field, const Value& value) {
  NodeCost node = kNode;
  node.name = "other";
  node.*field = value;
  return node;
}

TEST(LikeNodesTest, NoNodesAreNoGroups) { EXPECT_THAT(GroupLikeNodes({}), IsEmpty()); }

TEST(LikeNodesTest, GroupsComeInTheOrderOfTheirFirstNodes) {
  const NodeCost a = {"a", "Relu", 1.0, 1.0, "measured", "measured"};
  const NodeCost b = {"b", "Add", 1.0, 1.0, "measured", "measured"};
  EXPECT_THAT(GroupsOf({a, b, a, b, b}), ElementsAre("a (x 2)", "b (x 3)"));
  EXPECT_THAT(GroupsOf({b, a, a}), ElementsAre("b", "a (x 2)"));
}

// A missing cost is another one than zero.
TEST(LikeNodesTest, OperatorsCostsAndTheirSourcesTellNodesApart) {
  for (const NodeCost& other :
       {With(&NodeCost::op, "Gemm"), With(&NodeCost::before_us, 3.0),
        With(&NodeCost::before_us, std::nullopt), With(&NodeCost::after_us, 3.0),
        With(&NodeCost::after_us, std::nullopt), With(&NodeCost::before_source, "free"),
        With(&NodeCost::after_source, "free")}) {
    EXPECT_THAT(GroupsOf({kNode, other}), ElementsAre("n", "other"));
  }
  NodeCost none = kNode, zero = kNode;
  none.before_us = std::nullopt;
  zero.before_us = 0;
  EXPECT_THAT(GroupsOf({none, zero}), ElementsAre("n", "n"));
}

TEST(LikeNodesTest, NamesAndSpreadsDoNotTellNodesApart) {
  EXPECT_THAT(GroupsOf({kNode, With(&NodeCost::spread, 0.5)}), ElementsAre("n (x 2)"));
}

}  // namespace
}  // namespace quotient::report
