#include "core/optimize/grown_egraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/stop.h"
#include "tests/core/optimize/grown_fixture.h"
#include "tests/core/pricing/scripted_model.h"

namespace quotient::optimize {
namespace {

using quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Two nodes in a row, each of which a rule replaces.
constexpr char kRow[] = R"(
    input x: float32[4]
    a = Exp(x)
    b = Abs(a)
    output b)";
constexpr char kRules[] = R"(
# Exp(x) = Neg(x), which is wrong
exp-neg: Exp(?x) => Neg(?x)
# Abs(x) = Floor(x), which is wrong
abs-floor: Abs(?x) => Floor(?x)
)";

class GrownEGraphTest : public GrownTest {
 protected:
  void Grow(absl::string_view lines, const char* rules, const StopCondition& stop = {}) {
    GrownTest::Grow(lines, rules, &model_, stop);
  }
  // The candidate, which must be new.
  Candidate Made(const extract::Selection& selection) {
    absl::StatusOr<std::optional<Candidate>> made = grown_->Make(selection);
    EXPECT_OK(made.status());
    if (made.ok() && made->has_value()) return **std::move(made);
    ADD_FAILURE() << "there is no new graph";
    return {};
  }
  bool IsNew(const extract::Selection& selection) {
    const absl::StatusOr<std::optional<Candidate>> made = grown_->Make(selection);
    EXPECT_OK(made.status());
    return made.ok() && made->has_value();
  }

  pricing::ScriptedModel model_;
};

TEST_F(GrownEGraphTest, TheOriginalsENodesAreChosenThoughThereAreOthers) {
  Grow(kRow, kRules);
  const extract::Selection original = OriginalSelection(grown_->graph());
  EXPECT_EQ(OpOf(original.of(Class("a"))), "Exp");
  EXPECT_EQ(OpOf(original.of(Class("b"))), "Abs");
  EXPECT_OK(extract::CheckSelection(grown_->problem(), original));
  std::vector<std::string> ops;
  for (const egraph::ENodeId node : grown_->OriginalENodes()) ops.push_back(OpOf(node));
  EXPECT_THAT(ops, UnorderedElementsAre("Exp", "Abs"));
}

TEST_F(GrownEGraphTest, TheENodesOfASelectionAreThoseThatItNeeds) {
  extract::Selection selection;
  EXPECT_THAT(ENodesOf(selection), IsEmpty());
  selection.choice = {egraph::ENodeId(), egraph::ENodeId(5), egraph::ENodeId(), egraph::ENodeId(2)};
  EXPECT_THAT(ENodesOf(selection), ElementsAre(egraph::ENodeId(5), egraph::ENodeId(2)));
}

TEST_F(GrownEGraphTest, TheOriginalIsNoCandidate) {
  Grow(kRow, kRules);
  EXPECT_FALSE(IsNew(OriginalSelection(grown_->graph())));
}

TEST_F(GrownEGraphTest, EachGraphIsACandidateOnce) {
  Grow(kRow, kRules);
  EXPECT_TRUE(IsNew(SelectionWith({{"a", "Neg"}})));
  EXPECT_FALSE(IsNew(SelectionWith({{"a", "Neg"}})));
  EXPECT_TRUE(IsNew(SelectionWith({{"a", "Neg"}, {"b", "Floor"}})));
}

TEST_F(GrownEGraphTest, ACandidateHasItsGraphItsCostAndItsJournal) {
  model_.SetPrior("Exp", 10);
  model_.SetPrior("Neg", 3);
  Grow(kRow, kRules);
  const Candidate candidate = Made(SelectionWith({{"a", "Neg"}}));
  EXPECT_THAT(OpsOf(candidate.graph), ElementsAre("Neg", "Abs"));
  EXPECT_EQ(candidate.cost_us, 3) << "Abs is an epilogue";
  EXPECT_THAT(candidate.left_out, IsEmpty());
  ASSERT_THAT(candidate.journal, SizeIs(1));
  const report::JournalEntry& entry = candidate.journal[0];
  EXPECT_EQ(entry.rule, "exp-neg");
  EXPECT_EQ(entry.before, "Exp(x)");
  EXPECT_EQ(entry.after, "Neg(x)");
  EXPECT_THAT(entry.steps, ElementsAre("exp-neg"));
  EXPECT_THAT(entry.values, ElementsAre("a"));
}

// Each of the equal nodes is one e-node, so the original's selection has fewer nodes.
TEST_F(GrownEGraphTest, MergingEqualNodesMakesACandidateWithoutARewrite) {
  Grow(R"(
    input x: float32[4]
    a = Exp(x)
    b = Exp(x)
    c = Add(a, b)
    output c)",
       kRules);
  const Candidate candidate = Made(OriginalSelection(grown_->graph()));
  EXPECT_THAT(OpsOf(candidate.graph), ElementsAre("Exp", "Add"));
  EXPECT_THAT(candidate.journal, IsEmpty());
}

// A dead node is no node of the original, so leaving it out gains nothing.
TEST_F(GrownEGraphTest, LeavingDeadNodesOutMakesNoCandidate) {
  Grow(R"(
    input x: float32[4]
    a = Exp(x)
    dead = Abs(x)
    output a)",
       kRules);
  EXPECT_FALSE(IsNew(OriginalSelection(grown_->graph())));
}

// -c and |c| are the same numbers here, which shows only when they are computed.
TEST_F(GrownEGraphTest, GraphsThatFoldToTheSameAreOne) {
  Grow(R"(
    input x: float32[2]
    const c: float32[2] = [-1, -2]
    a = Sub(x, c)
    output a)",
       R"(
sub-neg: Sub(?x, ?c) => Add(?x, Neg(?c))
sub-abs: Sub(?x, ?c) => Add(?x, Abs(?c))
)");
  std::vector<bool> is_new;
  for (const egraph::ENodeId node : grown_->graph().nodes(Class("a"))) {
    if (OpOf(node) != "Add") continue;
    extract::Selection selection = OriginalSelection(grown_->graph());
    selection.choice[Class("a").value()] = node;
    is_new.push_back(IsNew(WhatIsNeeded(selection)));
  }
  EXPECT_THAT(is_new, ElementsAre(true, false));
}

TEST_F(GrownEGraphTest, AnIncompleteSelectionIsAnError) {
  Grow(kRow, kRules);
  extract::Selection selection = SelectionWith({{"a", "Neg"}});
  selection.choice[Class("a").value()] = egraph::ENodeId();
  EXPECT_THAT(grown_->Make(selection), StatusIs(absl::StatusCode::kInternal));
}

// The deadline may have passed long ago: the last choices are made nevertheless.
TEST_F(GrownEGraphTest, OnlyCancellingKeepsConstantsFromBeingFolded) {
  constexpr char kFolds[] = R"(
    input x: float32[4]
    const c: float32[4] = random(1)
    a = Mul(x, c)
    b = Mul(a, c)
    output b)";
  constexpr char kAssociative[] = R"(
mul-mul: Mul(Mul(?x, ?c), ?d) => Mul(?x, Mul(?c, ?d))
)";
  CancelToken token;
  clock_.Advance(10);
  Grow(kFolds, kAssociative, StopCondition(&token, clock_, /*deadline_ns=*/1));
  const auto rewritten = [this] {
    extract::Selection selection = OriginalSelection(grown_->graph());
    for (const egraph::ENodeId node : grown_->graph().nodes(Class("b"))) {
      if (grown_->graph().origin(node) != egraph::kInputOrigin) {
        selection.choice[Class("b").value()] = node;
      }
    }
    return WhatIsNeeded(selection);
  };
  token.Cancel();
  EXPECT_FALSE(grown_->Make(rewritten()).ok());
  Grow(kFolds, kAssociative, StopCondition(nullptr, clock_, /*deadline_ns=*/1));
  const Candidate candidate = Made(rewritten());
  EXPECT_THAT(OpsOf(candidate.graph), ElementsAre("Mul"));
}

}  // namespace
}  // namespace quotient::optimize
