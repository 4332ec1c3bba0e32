#include "core/search/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "tests/support/egraph/rewriting_data.h"
#include "tests/support/egraph/term_workspace.h"
#include "tests/support/ticking_clock.h"

namespace quotient::search {
namespace {

using ::testing::IsEmpty;
using testing::TermWorkspace;

std::unique_ptr<TermWorkspace> MakeWorkspace(int seed) {
  const std::string term = testing::ReadRewritingFile(absl::StrCat("geb/math_d7_s", seed, ".txt"));
  return *TermWorkspace::Make(testing::MathAlgebra(),
                              testing::ReadRewritingFile("geb/math-rules.txt"), "rules", term);
}

const testing::TickingClock kClock(/*step_ns=*/1'000);

constexpr Walk::Places kAllPlaces = Walk::Places::kOfAllRules;

Limits SmallLimits() {
  Limits limits;
  limits.max_enodes = 1'000;
  limits.max_matches_per_rule = 100;
  return limits;
}

State GoTo(Walk& walk, const std::vector<Action>& path) { return *walk.GoTo(path, {}); }

void ExpectSame(const State& a, const State& b) {
  EXPECT_EQ(a.cost, b.cost);
  EXPECT_EQ(a.enodes, b.enodes);
  EXPECT_EQ(a.changed, b.changed);
  EXPECT_EQ(a.saturated, b.saturated);
  EXPECT_EQ(a.full, b.full);
}

// What is counted on the way follows the walk: a step that is undone does not count.
TEST(Walk, CountsWhatWasAppliedOnTheWay) {
  const Limits limits = SmallLimits();
  const auto workspace = *TermWorkspace::Make(
      testing::MathAlgebra(), "zero: (+ ?a 0) => ?a\nswap: (+ ?a ?b) => (+ ?b ?a)\n", "rules",
      "(* (+ x 0) (+ y 0))");
  Walk walk(workspace.get(), &limits, &kClock);
  constexpr Action kZero = {Action::Kind::kRule, 0};
  constexpr Action kSwap = {Action::Kind::kRule, 1};
  constexpr Action kOneSwap = {Action::Kind::kPlace, 1, 0};
  GoTo(walk, {kSwap});
  EXPECT_EQ(walk.CountsByRule()[1], (RuleCounts{2, 2, 2}));
  GoTo(walk, {kZero, kOneSwap});
  EXPECT_EQ(walk.CountsByRule()[0], (RuleCounts{2, 2, 0}));
  EXPECT_EQ(walk.CountsByRule()[1], (RuleCounts{1, 1, 1}));
  GoTo(walk, {});
  EXPECT_EQ(walk.CountsByRule()[0], RuleCounts());
}

// The state at the end of a path depends neither on where the walk was before nor on what it was
// asked there.
TEST(Walk, AStateIsAFunctionOfThePath) {
  const Limits limits = SmallLimits();
  for (int seed = 0; seed < 3; ++seed) {
    const auto workspace = MakeWorkspace(seed);
    Walk walk(workspace.get(), &limits, &kClock);
    Rng rng(seed);
    std::vector<Action> path;
    for (int i = 0; i < 60; ++i) {
      const State state = GoTo(walk, path);
      const auto workspace_of_fresh = MakeWorkspace(seed);
      Walk fresh(workspace_of_fresh.get(), &limits, &kClock);
      ExpectSame(state, GoTo(fresh, path));
      EXPECT_EQ(walk.Hash(), fresh.Hash());
      if (rng.Below(3) == 0) {
        path.resize(rng.Below(path.size() + 1));
        continue;
      }
      const std::vector<Action> actions = walk.Actions(kAllPlaces, {});
      EXPECT_EQ(actions, fresh.Actions(kAllPlaces, {}));
      EXPECT_EQ(actions.empty(), state.final());
      if (!actions.empty()) path.push_back(actions[rng.Below(actions.size())]);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// The same rule, but hidden from the matcher, so that it is searched from scratch.
class Opaque : public egraph::Rule {
 public:
  explicit Opaque(const egraph::Rule& rule) : rule_(rule) {}
  const std::string& name() const override { return rule_.name(); }
  const std::string& equation() const override { return rule_.equation(); }
  void Search(const egraph::EGraph& graph, egraph::MatchSink& sink) const override {
    rule_.Search(graph, sink);
  }
  absl::StatusOr<bool> Apply(egraph::EGraph& graph, const egraph::Match& match,
                             egraph::Origin origin) const override {
    return rule_.Apply(graph, match, origin);
  }

 private:
  const egraph::Rule& rule_;
};

// Half of its rules have to search from scratch.
class HalfOpaqueWorkspace : public Workspace {
 public:
  explicit HalfOpaqueWorkspace(std::unique_ptr<TermWorkspace> inner) : inner_(std::move(inner)) {
    for (const egraph::Rule* rule : inner_->rules()) {
      if (rules_.size() % 2 == 0) {
        opaque_.push_back(std::make_unique<Opaque>(*rule));
        rule = opaque_.back().get();
      }
      rules_.push_back(rule);
    }
  }
  egraph::EGraph& graph() override { return inner_->graph(); }
  std::span<const egraph::Rule* const> rules() const override { return rules_; }
  void OnGraphGrown() override { inner_->OnGraphGrown(); }
  double Cost(const StopCondition& stop) override { return inner_->Cost(stop); }
  void ForEachBest(const std::function<void(egraph::ClassId)>& visit) override {
    inner_->ForEachBest(visit);
  }
  void Mark() override { inner_->Mark(); }
  void Rollback() override { inner_->Rollback(); }
  void Forget() override { inner_->Forget(); }

 private:
  const std::unique_ptr<TermWorkspace> inner_;
  std::vector<std::unique_ptr<Opaque>> opaque_;
  std::vector<const egraph::Rule*> rules_;
};

// Hashes of the states that one match leads to from the state at the end of the path.
std::set<uint64_t> Neighbours(Walk& walk, std::vector<Action> path) {
  std::set<uint64_t> hashes;
  EXPECT_TRUE(walk.GoTo(path, {}).ok());
  for (const Action place : walk.AllPlaces({})) {
    path.push_back(place);
    if (GoTo(walk, path).changed) hashes.insert(walk.Hash());
    path.pop_back();
  }
  return hashes;
}

TEST(Walk, AllPlacesAreThereHoweverTheyAreFound) {
  const Limits limits = SmallLimits();
  for (int seed = 0; seed < 3; ++seed) {
    const auto plain = MakeWorkspace(seed);
    HalfOpaqueWorkspace half_opaque(MakeWorkspace(seed));
    Walk a(plain.get(), &limits, &kClock);
    Walk b(&half_opaque, &limits, &kClock);
    const std::set<uint64_t> neighbours = Neighbours(a, {});
    EXPECT_GT(neighbours.size(), 10u);
    EXPECT_EQ(neighbours, Neighbours(b, {}));
    // The same state has the same neighbours, whichever match led to it.
    const std::vector<Action> path = {a.AllPlaces({}).back()};
    GoTo(a, path);
    const uint64_t hash = a.Hash();
    for (const Action place : b.AllPlaces({})) {
      GoTo(b, {place});
      if (b.Hash() != hash) continue;
      EXPECT_EQ(Neighbours(a, path), Neighbours(b, {place}));
      break;
    }
  }
}

TEST(Walk, LookingForMatchesChangesNoStep) {
  const Limits limits = SmallLimits();
  HalfOpaqueWorkspace looked(MakeWorkspace(0));
  HalfOpaqueWorkspace not_looked(MakeWorkspace(0));
  Walk a(&looked, &limits, &kClock);
  Walk b(&not_looked, &limits, &kClock);
  std::vector<Action> path;
  for (uint16_t rule = 0; rule < 20; ++rule) {
    path.push_back({Action::Kind::kRule, rule});
    const State state = *a.GoTo(path, {});
    ExpectSame(state, *b.GoTo(path, {}));
    const std::vector<size_t> counts = a.CountMatches(1, {});
    for (size_t i = 0; i < counts.size(); i += 2) EXPECT_LE(counts[i], 1u);
  }
}

TEST(Walk, StaysWhereItIsSettled) {
  const Limits limits = SmallLimits();
  const auto workspace = MakeWorkspace(0);
  Walk walk(workspace.get(), &limits, &kClock);
  std::vector<Action> path;
  GoTo(walk, path);
  for (const Action action : walk.Actions(kAllPlaces, {})) {
    if (action.kind == Action::Kind::kRule && path.size() < 3) path.push_back(action);
  }
  const State state = GoTo(walk, path);
  const uint64_t hash = walk.Hash();
  walk.Commit();
  EXPECT_EQ(workspace->graph().num_marks(), 0u);
  EXPECT_EQ(walk.Hash(), hash);
  EXPECT_EQ(workspace->Cost({}), state.cost);
  int64_t applied = 0;
  for (const RuleCounts& counts : walk.CountsByRule()) applied += counts.changed;
  EXPECT_GE(applied, 3);
}

// Each match adds one e-node, so the number of matches that fit is known.
TEST(Walk, ARuleStopsAtTheNodeLimit) {
  constexpr int kSums = 64;
  std::string term = "a";
  for (int i = 0; i < kSums; ++i) term = absl::StrCat("(+ b", i, " ", term, ")");
  for (int64_t more = 1; more <= kSums; ++more) {
    SCOPED_TRACE(more);
    const auto workspace =
        *TermWorkspace::Make(testing::MathAlgebra(), "comm: (+ ?a ?b) => (+ ?b ?a)", "rules", term);
    Limits limits;
    limits.max_enodes = workspace->graph().num_enodes() + more;
    Walk walk(workspace.get(), &limits, &kClock);
    GoTo(walk, {{Action::Kind::kRule, 0}});
    EXPECT_EQ(walk.state().enodes, limits.max_enodes);
  }
}

TEST(Walk, NoStepGoesFarBeyondTheNodeLimit) {
  const Limits limits = SmallLimits();
  const auto workspace = MakeWorkspace(1);
  Walk walk(workspace.get(), &limits, &kClock);
  std::vector<Action> path;
  while (!GoTo(walk, path).final()) {
    // Only the last match may exceed the limit.
    EXPECT_LE(walk.state().enodes, limits.max_enodes + 16);
    for (const Action action : walk.Actions(kAllPlaces, {})) {
      if (action.kind == Action::Kind::kRule) path.push_back(action);
    }
    ASSERT_LE(path.size(), 10'000u);
  }
  EXPECT_GE(workspace->graph().num_enodes(), limits.max_enodes);
}

TEST(Walk, GrowingToTheEndOfASmallWorldSaturatesIt) {
  const auto workspace = *TermWorkspace::Make(
      testing::MathAlgebra(), "comm: (+ ?a ?b) => (+ ?b ?a)", "rules", "(+ a (+ a 1))");
  const Limits limits;
  Walk walk(workspace.get(), &limits, &kClock);
  EXPECT_FALSE(GoTo(walk, {}).saturated);
  const Action grow = {Action::Kind::kGrow, 0, Action::kToTheLimit};
  ASSERT_THAT(walk.Actions(kAllPlaces, {}), ::testing::Contains(grow));
  const State grown = GoTo(walk, {grow});
  EXPECT_TRUE(grown.saturated);
  EXPECT_TRUE(grown.changed);
  EXPECT_THAT(walk.Actions(kAllPlaces, {}), IsEmpty());
}

TEST(Walk, WhatChangesNothingIsSaid) {
  const auto workspace = *TermWorkspace::Make(testing::MathAlgebra(),
                                              "same: (+ ?a ?b) => (+ ?a ?b)", "rules", "(+ a 1)");
  const Limits limits;
  Walk walk(workspace.get(), &limits, &kClock);
  GoTo(walk, {});
  ASSERT_FALSE(walk.Actions(kAllPlaces, {}).empty());
  EXPECT_FALSE(GoTo(walk, {{Action::Kind::kRule, 0}}).changed);
}

// Like the workspace of models, it remembers the best graph as of the last call of Cost.
class RememberingWorkspace : public HalfOpaqueWorkspace {
 public:
  using HalfOpaqueWorkspace::HalfOpaqueWorkspace;
  double Cost(const StopCondition& stop) override {
    best_.clear();
    HalfOpaqueWorkspace::ForEachBest([this](egraph::ClassId id) { best_.push_back(id); });
    return HalfOpaqueWorkspace::Cost(stop);
  }
  void ForEachBest(const std::function<void(egraph::ClassId)>& visit) override {
    for (const egraph::ClassId id : best_) visit(id);
  }

 private:
  std::vector<egraph::ClassId> best_;
};

TEST(Walk, ActionsAreThoseOfWhereItIsWhereverItWas) {
  const Limits limits = SmallLimits();
  RememberingWorkspace workspace(MakeWorkspace(1));
  Walk walk(&workspace, &limits, &kClock);
  GoTo(walk, {});
  int compared = 0;
  for (const Action first : walk.Actions(kAllPlaces, {})) {
    if (!GoTo(walk, {first}).changed || walk.state().final()) continue;
    const std::vector<Action> there = walk.Actions(kAllPlaces, {});
    for (const Action second : there) {
      GoTo(walk, {first, second});
      GoTo(walk, {first});
      ASSERT_EQ(walk.Actions(kAllPlaces, {}), there);
      ++compared;
    }
    if (compared > 100) break;
  }
  EXPECT_GT(compared, 100);
}

// Where single matches are no actions, nobody asks for the best graph of a state that is opened.
TEST(Walk, MovingValuesNothingUntilItIsNeeded) {
  class CountingWorkspace : public HalfOpaqueWorkspace {
   public:
    using HalfOpaqueWorkspace::HalfOpaqueWorkspace;
    double Cost(const StopCondition& stop) override {
      ++num_valued;
      return HalfOpaqueWorkspace::Cost(stop);
    }
    int num_valued = 0;
  };
  const Limits limits = SmallLimits();
  CountingWorkspace workspace(MakeWorkspace(1));
  Walk walk(&workspace, &limits, &kClock);
  const std::vector<Action> path = {{Action::Kind::kRule, 0}, {Action::Kind::kRule, 1}};
  ASSERT_TRUE(walk.MoveTo(path, {}).ok());
  EXPECT_EQ(workspace.num_valued, 0);
  EXPECT_EQ(walk.state().cost, std::numeric_limits<double>::infinity());
  const State moved = walk.state();
  State valued = GoTo(walk, path);
  EXPECT_EQ(workspace.num_valued, 1);
  EXPECT_LT(valued.cost, moved.cost);
  valued.cost = moved.cost;
  ExpectSame(valued, moved);
  // The best graph, in which single matches are looked for, is that of the state moved to.
  const std::vector<Action> there = walk.Actions(kAllPlaces, {});
  ASSERT_TRUE(walk.MoveTo({}, {}).ok());
  ASSERT_TRUE(walk.MoveTo(path, {}).ok());
  EXPECT_EQ(walk.Actions(kAllPlaces, {}), there);
}

TEST(Walk, RulesWithoutMatchesAreNoActions) {
  RememberingWorkspace workspace(*TermWorkspace::Make(
      testing::MathAlgebra(),
      "zero: (+ ?a 0) => ?a\none: (* ?a 1) => ?a\ncomm: (+ ?a ?b) => (+ ?b ?a)", "rules",
      "(+ a b)"));
  Limits limits;
  Walk walk(&workspace, &limits, &kClock);
  GoTo(walk, {});
  const auto half = Action{Action::Kind::kGrow, 0, 150};
  const auto grow = Action{Action::Kind::kGrow, 0, Action::kToTheLimit};
  const auto comm = Action{Action::Kind::kRule, 2};
  EXPECT_THAT(walk.Actions(kAllPlaces, {}), ::testing::ElementsAre(grow, half, comm));
  limits.max_enodes = 4;  // half as many again: there is no difference to the limit
  EXPECT_THAT(walk.Actions(kAllPlaces, {}), ::testing::ElementsAre(grow, comm));
}

}  // namespace
}  // namespace quotient::search
