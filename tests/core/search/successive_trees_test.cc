#include "core/search/successive_trees.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/search/field_stream.h"

namespace quotient::search {
namespace {

constexpr size_t kNumRules = 3;

Action Rule(uint16_t rule) { return {Action::Kind::kRule, rule}; }

// The initial state has two rules to try and, with places, a third one.
SuccessiveTrees::Root SmallRoot() {
  return {.state = {.cost = 10, .bill = BillId(0)},
          .opened = {.hash = 1, .actions = {Rule(0), Rule(1)}},
          .opened_with_places = {.hash = 1, .actions = {Rule(0), Rule(1), Rule(2)}}};
}

class SuccessiveTreesTest : public ::testing::Test {
 protected:
  SuccessiveTreesTest() {
    trees_.SetRoot(SmallRoot());
    trees_.Begin();
  }

  // Tries all that the present tree has; the states are saturated. Returns their number.
  int64_t Exhaust() {
    int64_t tried = 0;
    for (SearchTree::Leaf leaf; trees_.tree().Select(&leaf);) {
      std::vector<State> states;
      for (const Action action : leaf.tries) {
        states.push_back({.cost = 9, .bill = BillId(1u + action.rule), .saturated = true});
      }
      trees_.tree().Observe(leaf, {}, states);
      tried += static_cast<int64_t>(states.size());
    }
    EXPECT_TRUE(trees_.tree().exhausted());
    return tried;
  }

  SuccessiveTrees trees_{kNumRules, /*seed=*/0};
};

TEST_F(SuccessiveTreesTest, ASearchIsStuckAfterAsLongAsItHasImprovedAndSomeMore) {
  constexpr int64_t kImproved = 500;
  const int64_t patience = SuccessiveTrees::kPatience + kImproved;
  EXPECT_FALSE(trees_.RestartIfStuck(kImproved + patience, kImproved));
  EXPECT_EQ(trees_.number(), 0);
  EXPECT_TRUE(trees_.RestartIfStuck(kImproved + patience + 1, kImproved));
  EXPECT_EQ(trees_.number(), 1);
  // The new tree gets as many simulations.
  EXPECT_FALSE(trees_.RestartIfStuck(kImproved + 2 * patience + 1, kImproved));
  EXPECT_TRUE(trees_.RestartIfStuck(kImproved + 2 * patience + 2, kImproved));
  EXPECT_EQ(trees_.number(), 2);
}

TEST_F(SuccessiveTreesTest, PlacesAreTriedOnceEverythingElseHasBeen) {
  EXPECT_EQ(trees_.places(), Walk::Places::kOfPatterns);
  EXPECT_EQ(Exhaust(), 2);
  EXPECT_TRUE(trees_.TryPlaces(2));
  EXPECT_EQ(trees_.places(), Walk::Places::kOfAllRules);
  EXPECT_EQ(trees_.number(), 1);
  EXPECT_EQ(Exhaust(), 3);
  EXPECT_FALSE(trees_.TryPlaces(5));
  EXPECT_EQ(trees_.number(), 1);
}

TEST_F(SuccessiveTreesTest, StatesOfAllTreesAreCounted) {
  Exhaust();
  EXPECT_EQ(trees_.num_states(), 3);
  trees_.Restart(2);
  EXPECT_EQ(trees_.num_states(), 3 + 1);
}

TEST_F(SuccessiveTreesTest, LaterTreesStartAtThePresentCost) {
  Exhaust();
  trees_.Reprice([](BillId bill) { return bill == BillId(0) ? 30.0 : 20.0; });
  EXPECT_EQ(trees_.root().cost, 30);
  EXPECT_EQ(trees_.tree().best_cost(), 20);
  trees_.Restart(2);
  EXPECT_EQ(trees_.tree().root_cost(), 30);
  EXPECT_EQ(trees_.tree().best_cost(), 30);
}

TEST_F(SuccessiveTreesTest, ARootWithoutABillKeepsItsCost) {
  SuccessiveTrees::Root root = SmallRoot();
  root.state.bill = {};
  trees_.SetRoot(root);
  trees_.Begin();
  trees_.Reprice([](BillId) { return 30.0; });
  EXPECT_EQ(trees_.root().cost, 10);
}

TEST_F(SuccessiveTreesTest, AreRestoredFromACheckpoint) {
  Exhaust();
  trees_.TryPlaces(2);
  FieldWriter writer;
  trees_.VisitCounts(writer);
  trees_.VisitTree(writer);
  const std::string bytes = writer.Take();

  SuccessiveTrees restored(kNumRules, /*seed=*/0);
  FieldReader reader(bytes);
  restored.VisitCounts(reader);
  restored.VisitTree(reader);
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(restored.number(), 1);
  EXPECT_EQ(restored.places(), Walk::Places::kOfAllRules);
  EXPECT_EQ(restored.num_states(), trees_.num_states());
  FieldWriter again;
  restored.VisitCounts(again);
  restored.VisitTree(again);
  EXPECT_EQ(again.Take(), bytes);
}

}  // namespace
}  // namespace quotient::search
