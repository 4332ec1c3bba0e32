// A rule is searched at the classes of a match alone: no match is missed there that a search of the
// whole e-graph finds.

#include "core/journal/replay_egraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/reason.h"
#include "tests/core/rules/random_graphs.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::Match;

class ReplayEGraphTest : public ::testing::Test {
 protected:
  void Begin(const model::Graph& graph) {
    ASSERT_OK_AND_ASSIGN(
        replay_, ReplayEGraph::Begin(
                     graph, rules::Measured(graph),
                     {.max_opset = rules::kNewestOpset, .max_folded_bytes = 1 << 20}, &budget_));
  }

  std::vector<Match> MatchesOf(size_t rule) const {
    return rules::MatchesOf(replay_->tensors(), *replay_->rules()[rule]);
  }

  // Makes some rewrites by each rule.
  void Grow() {
    constexpr uint32_t kMostENodes = 500;
    constexpr size_t kMostMatches = 5;
    for (size_t rule = 0; rule < replay_->rules().size(); ++rule) {
      std::vector<Match> matches = MatchesOf(rule);
      if (matches.size() > kMostMatches) matches.resize(kMostMatches);
      for (const Match& match : matches) ASSERT_OK(replay_->Apply(rule, match).status());
      if (replay_->graph().enode_bound() > kMostENodes) return;
    }
  }

  // Expects that all matches are found at their places, and returns the names of the rules.
  std::set<std::string> ExpectFound() const {
    std::set<std::string> matching;
    for (size_t i = 0; i < replay_->rules().size(); ++i) {
      for (const Match& match : MatchesOf(i)) {
        const std::string& name = replay_->rules()[i]->name();
        const absl::StatusOr<bool> has = replay_->Has(i, match);
        EXPECT_TRUE(has.ok() && *has) << name;
        matching.insert(name);
      }
    }
    return matching;
  }

  StepBudget budget_{StopCondition()};
  std::unique_ptr<ReplayEGraph> replay_;
};

TEST_F(ReplayEGraphTest, EachRuleIsFoundWhereItMatches) {
  for (const rules::RuleCase& each : rules::RuleCases()) {
    SCOPED_TRACE(each.rule);
    ASSERT_NO_FATAL_FAILURE(Begin(rules::ParseStatic(each.fires)));
    EXPECT_TRUE(ExpectFound().contains(each.rule));
  }
}

// concat-negated is searched at the Concat, and names neither that nor one of its operands.
TEST_F(ReplayEGraphTest, ARuleIsFoundAtWhatItsMatchDoesNotName) {
  ASSERT_NO_FATAL_FAILURE(Begin(rules::ParseStatic(R"(graph g {
    input x: float32[2,3]
    input y: float32[2,3]
    const c: float32[6] = random(1)
    a = Neg(x)
    b = Neg(y)
    joined = Concat(a, b) {axis=1}
    z = Mul(joined, c)
    output z
  })")));
  EXPECT_TRUE(ExpectFound().contains("concat-negated"));
}

// Makes more and more of a class: Neg(x), Neg(Neg(x)) and so on.
class Growing final : public egraph::Rule {
 public:
  explicit Growing(domain::TensorDomain* domain) : domain_(*domain) {}
  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return name_; }
  void Search(const egraph::EGraph& graph, egraph::MatchSink& sink) const override {
    for (const egraph::ClassId cls : graph.classes()) {
      if (!sink.Add({.classes = {cls}, .ops = {}})) return;
    }
  }
  absl::StatusOr<bool> Apply(egraph::EGraph& graph, const Match& match,
                             egraph::Origin origin) const override {
    egraph::ClassId last = match.classes[0];
    for (int i = 0; i < 20'000; ++i) {
      absl::StatusOr<egraph::ClassId> made = domain_.Add(graph, "Neg", {}, {{last}}, origin);
      if (!made.ok()) return made.status();
      last = *made;
    }
    return true;
  }

 private:
  domain::TensorDomain& domain_;
  const std::string name_ = "growing";
};

class ReplayLimitsTest : public ReplayEGraphTest {
 protected:
  absl::Status MakeGrowing(double most_bytes) {
    const model::Graph graph = rules::ParseStatic(R"(graph g {
      input x: float32[2]
      a = Neg(x)
      output a
    })");
    const rules::Family family = {"of the test", "", nullptr,
                                  [](domain::TensorDomain* domain, rules::RuleList& rules) {
                                    rules.push_back(std::make_unique<Growing>(domain));
                                  }};
    const ReplaySettings settings = {.max_opset = rules::kNewestOpset,
                                     .max_folded_bytes = 1 << 20,
                                     .most_bytes = most_bytes,
                                     .families = std::span(&family, 1)};
    absl::StatusOr<std::unique_ptr<ReplayEGraph>> replay =
        ReplayEGraph::Begin(graph, graph, settings, &budget_);
    if (!replay.ok()) return replay.status();
    return (*replay)->Make(std::vector<Rewrite>{{.rule = "growing", .at = {{.name = "a"}}}});
  }
};

TEST_F(ReplayLimitsTest, AnEGraphMayNotHaveManyENodesForEachRewrite) {
  EXPECT_THAT(MakeGrowing(1e12),
              testing::HasReason(Reason::kLimitNodes, ::testing::HasSubstr("rewrite 0 (growing)")));
}

TEST_F(ReplayLimitsTest, AnEGraphMayNotTakeMoreMemoryThanThereIs) {
  EXPECT_THAT(MakeGrowing(1e6),
              testing::HasReason(Reason::kLimitBytes, ::testing::HasSubstr("rewrite 0 (growing)")));
}

TEST_F(ReplayEGraphTest, RulesAreFoundInEGraphsThatHaveGrown) {
  constexpr uint64_t kGraphs = 60;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = rules::RandomGraph(seed, 12);
    if (graph.outputs.empty()) continue;
    ASSERT_NO_FATAL_FAILURE(Begin(graph));
    for (int round = 0; round < 2; ++round) ASSERT_NO_FATAL_FAILURE(Grow());
    ExpectFound();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace quotient::journal
