// All rules for models, searched as a search does it, incrementally, miss nothing: once no match is
// left, whatever a search of the whole graph finds changes nothing.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/egraph/near_match.h"
#include "core/rules/rule_set.h"
#include "core/search/rewriter.h"
#include "tests/core/rules/random_graphs.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/status_matchers.h"

namespace quotient::rules {
namespace {

constexpr int64_t kMostENodes = 3000;

// One e-graph that rules grow.
class Growing {
 public:
  Growing(const model::Graph& graph, uint64_t seed)
      : tensors_(*domain::FromGraph(graph, graph)),
        set_(*BuildRules(tensors_.domain.get(), kNewestOpset, {})),
        rewriter_(tensors_.egraph.get(), set_.rules()),
        rng_(seed) {}

  // Applies some of the matches of some rules. Now and then all of that is undone.
  void TakeRandomStep() {
    const bool undone = rng_.Below(3) == 0;
    if (undone) rewriter_.Mark();
    std::vector<size_t> wanted;
    for (size_t rule = 0; rule < rewriter_.num_rules(); ++rule) wanted.push_back(rng_.Below(4));
    rewriter_.Search(wanted, {});
    for (size_t rule = 0; rule < rewriter_.num_rules(); ++rule) {
      ASSERT_OK(rewriter_.ApplyNext(rule, rng_.Below(4)));
    }
    ASSERT_OK(rewriter_.Rebuild());
    if (undone) rewriter_.Rollback();
  }

  // Applies all matches until there are none. Returns false if the graph becomes too large.
  bool Saturate() {
    const std::vector<size_t> wanted(rewriter_.num_rules(), 1 << 20);
    for (bool more = true; more;) {
      rewriter_.Search(wanted, {});
      more = false;
      for (size_t rule = 0; rule < rewriter_.num_rules(); ++rule) {
        const size_t waiting = rewriter_.num_waiting(rule);
        more |= waiting > 0;
        if (waiting > 0) found_[set_.rules()[rule]->name()] += waiting;
        EXPECT_OK(rewriter_.ApplyNext(rule, waiting));
        if (tensors_.egraph->num_enodes() > kMostENodes) return false;
      }
      EXPECT_OK(rewriter_.Rebuild());
    }
    return true;
  }

  void ExpectNothingMissed() {
    for (const egraph::Rule* rule : set_.rules()) {
      for (const egraph::Match& match : MatchesOf(tensors_, *rule)) {
        ASSERT_OK_AND_ASSIGN(const bool changed, rule->Apply(*tensors_.egraph, match, 1));
        EXPECT_FALSE(changed) << rule->name();
        EXPECT_OK(tensors_.egraph->Rebuild());
      }
    }
  }

  const std::map<std::string, size_t>& found() const { return found_; }

 private:
  domain::TensorEGraph tensors_;
  const RuleSet set_;
  search::Rewriter rewriter_;
  Rng rng_;
  std::map<std::string, size_t> found_;
};

// Returns whether the graph was small enough to be examined. Adds to `found`.
bool Examine(const model::Graph& graph, uint64_t seed, std::map<std::string, size_t>& found) {
  Growing growing(graph, seed);
  for (uint64_t steps = seed % 5; steps > 0; --steps) growing.TakeRandomStep();
  if (!growing.Saturate()) return false;
  growing.ExpectNothingMissed();
  for (const auto& [rule, times] : growing.found()) found[rule] += times;
  return true;
}

TEST(IncrementalRules, MissNothingOnRandomGraphs) {
  int examined = 0;
  std::map<std::string, size_t> found;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = RandomGraph(seed, 10);
    if (graph.outputs.empty()) continue;
    examined += Examine(graph, seed, found);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(examined, 80);
  EXPECT_GE(found.size(), 60u) << ::testing::PrintToString(found);
}

TEST(IncrementalRules, MissNothingInTheRulesOwnCases) {
  int examined = 0;
  std::map<std::string, size_t> found;
  uint64_t seed = 0;
  for (const RuleCase& rule_case : RuleCases()) {
    SCOPED_TRACE(rule_case.rule);
    examined += Examine(ParseStatic(rule_case.fires), ++seed, found);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(examined, 100);
  EXPECT_GE(found.size(), 110u) << ::testing::PrintToString(found);
}

// Every rule is searched incrementally.
// What is said of a rule at one node (egraph/near_match.h) is true: it matches there if the search
// of the whole graph finds a match there.
TEST(IncrementalRules, AroundAllENodesTheSameMatchesAreFound) {
  using Key = std::pair<std::vector<ClassId>, std::vector<OpId>>;
  size_t found = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const model::Graph graph = RandomGraph(seed, 12);
    ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
    ASSERT_OK_AND_ASSIGN(const RuleSet set, BuildRules(tensors.domain.get(), kNewestOpset, {}));
    for (const egraph::Rule* rule : set.rules()) {
      if (rule->programs().empty()) continue;
      std::set<Key> all;
      for (const egraph::Match& match : MatchesOf(tensors, *rule)) {
        all.emplace(match.classes, match.ops);
      }
      std::set<Key> near;
      for (const egraph::Program* const program : rule->programs()) {
        for (uint32_t i = 0; i < tensors.egraph->enode_bound(); ++i) {
          const ENodeId enodes[] = {ENodeId(i)};
          const auto look =
              egraph::FindNearMatches(*program, *tensors.egraph, enodes, StopCondition());
          for (const egraph::Match& match : look.matches) near.emplace(match.classes, match.ops);
        }
      }
      EXPECT_EQ(near, all) << rule->name();
      found += all.size();
    }
  }
  EXPECT_GT(found, 100u);
}

TEST(IncrementalRules, NoneSearchesFromScratch) {
  domain::TensorDomain domain;
  ASSERT_OK_AND_ASSIGN(const RuleSet set, BuildRules(&domain, kNewestOpset, {}));
  egraph::EGraph graph(&domain, &domain);
  const search::Rewriter rewriter(&graph, set.rules());
  for (size_t rule = 0; rule < rewriter.num_rules(); ++rule) {
    EXPECT_FALSE(rewriter.searches_from_scratch(rule)) << set.rules()[rule]->name();
  }
}

}  // namespace
}  // namespace quotient::rules
