// The e-graph and its matcher against the naive one, on random graphs under random rules.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/egraph/egraph.h"
#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"
#include "tests/support/egraph/apply_all.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/egraph/naive_egraph.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

class AllMatches : public MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

// The same graph twice.
class Twins {
 public:
  Twins() : graph_(&table_, nullptr), vocabulary_(testing::SymbolVocabulary(table_)) {}

  void GrowAtRandom(Rng& rng, int num_nodes, int num_unions) {
    for (int i = 0; i < num_nodes; ++i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng, real_.size());
      std::vector<ClassId> real;
      std::vector<int> naive;
      for (size_t child : node.children) {
        real.push_back(real_[child]);
        naive.push_back(naive_[child]);
      }
      real_.push_back(*graph_.Add(table_.Op(node.word), real));
      naive_.push_back(oracle_.Add(node.word, naive));
    }
    for (int i = 0; i < num_unions; ++i) {
      const size_t a = rng.Below(real_.size());
      const size_t b = rng.Below(real_.size());
      ASSERT_TRUE(graph_.Union(real_[a], real_[b]).ok());
      oracle_.Union(naive_[a], naive_[b]);
    }
    ASSERT_TRUE(graph_.Rebuild().ok());
    oracle_.Close();
  }

  // `large`: as of the matcher; 0 gives all classes lists by kind.
  void Use(const std::vector<std::string>& texts, uint32_t large = ClassLists::kLarge) {
    std::vector<const Rule*> pointers;
    for (const std::string& text : texts) {
      absl::StatusOr<std::unique_ptr<Rule>> rule = testing::CompileRule(text, vocabulary_);
      ASSERT_TRUE(rule.ok()) << rule.status();
      rules_.push_back(*std::move(rule));
      parsed_.push_back(*ParseRuleText(text));
      pointers.push_back(rules_.back().get());
    }
    matcher_ = std::make_unique<Matcher>(table_, pointers, large);
  }

  // The oracle applies all matches, the e-graph those that are new where the matcher takes the
  // rule.
  void Step() {
    std::vector<AllMatches> found(rules_.size());
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (!matcher_->takes(i)) rules_[i]->Search(graph_, found[i]);
    }
    matcher_->Search(graph_);
    for (size_t i = 0; i < rules_.size(); ++i) {
      for (const Match& match : found[i].matches) {
        ASSERT_TRUE(rules_[i]->Apply(graph_, match, 1).ok());
      }
    }
    ASSERT_TRUE(testing::ApplyAll(*matcher_, rules_.size(), graph_).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
    oracle_.Step(parsed_);
  }

  // As Step, but what rules say is found from scratch and by other code.
  void StepFromScratch() {
    std::vector<AllMatches> found(rules_.size());
    for (size_t i = 0; i < rules_.size(); ++i) rules_[i]->Search(graph_, found[i]);
    for (size_t i = 0; i < rules_.size(); ++i) {
      for (const Match& match : found[i].matches) {
        ASSERT_TRUE(rules_[i]->Apply(graph_, match, 1).ok());
      }
    }
    ASSERT_TRUE(graph_.Rebuild().ok());
    oracle_.Step(parsed_);
  }

  // Takes a step in the e-graph alone: some rules are not searched, or not to the end.
  void StepLeavingOut(Rng& rng) {
    Matcher::Bounds bounds;
    for (size_t i = 0; i < rules_.size(); ++i) bounds.waiting.push_back(rng.Below(6));
    if (rng.Below(4) == 0) bounds.may_go_on = [&rng] { return rng.Below(4) != 0; };
    matcher_->Search(graph_, bounds);
    ASSERT_TRUE(testing::ApplyAll(*matcher_, rules_.size(), graph_).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
  }

  // Once all rules have caught up, whatever a search from scratch finds has been applied.
  void ExpectNothingMissed() {
    std::vector<AllMatches> found(rules_.size());
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (matcher_->takes(i)) rules_[i]->Search(graph_, found[i]);
    }
    matcher_->Search(graph_);
    ASSERT_TRUE(testing::ApplyAll(*matcher_, rules_.size(), graph_).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
    for (size_t i = 0; i < rules_.size(); ++i) {
      for (const Match& match : found[i].matches) {
        EXPECT_FALSE(*rules_[i]->Apply(graph_, match, 1)) << rules_[i]->name();
      }
    }
  }

  void ExpectEqual() const {
    EXPECT_EQ(graph_.num_enodes(), static_cast<int64_t>(oracle_.num_enodes()));
    EXPECT_EQ(graph_.num_classes(), static_cast<int64_t>(oracle_.num_classes()));
    std::map<ClassId, int> label_of;
    for (size_t i = 0; i < real_.size(); ++i) {
      const int label = oracle_.Find(naive_[i]);
      EXPECT_EQ(label_of.try_emplace(graph_.Find(real_[i]), label).first->second, label);
    }
    ExpectIndexConsistent();
  }

  int64_t size() const { return graph_.num_enodes(); }

 private:
  // nodes, parents and nodes_of_kind hold each live e-node where it belongs.
  void ExpectIndexConsistent() const {
    int64_t in_classes = 0;
    int64_t in_kinds = 0;
    for (ClassId id : graph_.classes()) {
      for (ENodeId node : graph_.nodes(id)) {
        ++in_classes;
        EXPECT_EQ(graph_.class_of(node), id);
        EXPECT_EQ(graph_.Lookup(graph_.node(node).op, graph_.node(node).children), id);
        for (ClassId child : graph_.node(node).children) {
          EXPECT_EQ(graph_.Find(child), child);
          EXPECT_EQ(std::ranges::count(graph_.parents(child), node), 1);
        }
      }
    }
    for (uint32_t kind = 0; kind < 32; ++kind) {
      for (ENodeId node : graph_.nodes_of_kind(KindId(kind))) {
        ++in_kinds;
        EXPECT_EQ(table_.Kind(graph_.node(node).op), KindId(kind));
      }
    }
    EXPECT_EQ(in_classes, graph_.num_enodes());
    EXPECT_EQ(in_kinds, graph_.num_enodes());
  }

  testing::SymbolTable table_;
  EGraph graph_;
  testing::NaiveEGraph oracle_;
  Vocabulary vocabulary_;
  std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<RuleText> parsed_;
  std::unique_ptr<Matcher> matcher_;
  std::vector<ClassId> real_;
  std::vector<int> naive_;
};

TEST(EGraphOracle, CongruenceAgreesOnRandomUnions) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Twins twins;
    for (int round = 0; round < 3; ++round) {
      twins.GrowAtRandom(rng, static_cast<int>(rng.Below(10)) + 1, static_cast<int>(rng.Below(4)));
      twins.ExpectEqual();
    }
    if (::testing::Test::HasFailure()) return;
  }
}

void RunRandomRules(uint64_t seed, bool incremental) {
  Rng rng(seed, 1);
  Twins twins;
  twins.GrowAtRandom(rng, 8, static_cast<int>(rng.Below(3)));
  std::vector<std::string> rules;
  for (uint64_t i = 1 + rng.Below(3); i > 0; --i) rules.push_back(testing::MakeRandomRule(rng));
  twins.Use(rules, seed % 2 == 0 ? 0 : ClassLists::kLarge);
  for (int step = 0; step < 4 && twins.size() < 40; ++step) {
    if (incremental) {
      twins.Step();
    } else {
      twins.StepFromScratch();
    }
    twins.ExpectEqual();
    // What others add and unite between steps is a change like those of rules.
    if (rng.Below(2) == 0) twins.GrowAtRandom(rng, 2, static_cast<int>(rng.Below(3)));
  }
  if (::testing::Test::HasFailure()) {
    for (const std::string& rule : rules) ADD_FAILURE() << rule;
  }
}

TEST(EGraphOracle, IncrementalRewritingAgreesUnderRandomRules) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    RunRandomRules(seed, true);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(EGraphOracle, RulesThatWereLeftOutCatchUp) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 2);
    Twins twins;
    twins.GrowAtRandom(rng, 8, static_cast<int>(rng.Below(3)));
    std::vector<std::string> rules;
    for (uint64_t i = 1 + rng.Below(3); i > 0; --i) rules.push_back(testing::MakeRandomRule(rng));
    if (rng.Below(3) == 0) rules.push_back("?x => f(?x)");
    twins.Use(rules, seed % 2 == 0 ? 0 : ClassLists::kLarge);
    for (int step = 0; step < 5 && twins.size() < 100; ++step) {
      twins.StepLeavingOut(rng);
      if (rng.Below(2) == 0) twins.GrowAtRandom(rng, 2, static_cast<int>(rng.Below(3)));
      if (rng.Below(3) == 0) twins.ExpectNothingMissed();
    }
    twins.ExpectNothingMissed();
    if (!::testing::Test::HasFailure()) continue;
    for (const std::string& rule : rules) ADD_FAILURE() << rule;
    return;
  }
}

TEST(EGraphOracle, RewritingFromScratchAgreesUnderRandomRules) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RunRandomRules(seed, false);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace quotient::egraph
