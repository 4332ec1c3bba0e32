// Time travel: after any walk of changes and rollbacks the whole image is what it was, byte for
// byte, and the matcher goes on to find exactly what there is: what each rule finds from scratch,
// and what a new matcher finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/rng.h"
#include "core/egraph/class_log.h"
#include "core/egraph/egraph.h"
#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"
#include "tests/support/egraph/apply_all.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/state_image.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

// Whether a term of the class contains the leaf `a`: what classes come to know from their e-nodes'
// children, and once it holds it stays.
class ContainsA : public Analysis {
 public:
  explicit ContainsA(const testing::SymbolTable* table) : table_(table) {}

  absl::Status Make(const EGraph& graph, OpId op, std::span<const ClassId> children,
                    ClassId fresh) override {
    holds_.resize(fresh.value());
    holds_.push_back(Says(graph, op, children));
    return absl::OkStatus();
  }
  absl::Status Merge(const EGraph& /*graph*/, ClassId kept, ClassId absorbed) override {
    if (holds_[kept.value()] && !holds_[absorbed.value()]) changed_.push_back(absorbed);
    if (holds_[absorbed.value()]) Learn(kept);
    return absl::OkStatus();
  }
  std::vector<ClassId> TakeChanged() override { return std::exchange(changed_, {}); }
  absl::Status Update(const EGraph& graph, ENodeId node) override {
    const ENodeView view = graph.node(node);
    if (Says(graph, view.op, view.children)) Learn(graph.class_of(node));
    return absl::OkStatus();
  }
  bool update_is_complete() const override { return true; }
  void Mark() override { log_.Mark(); }
  void Rollback(const EGraph& graph) override {
    log_.Rollback(holds_, graph.class_bound());
    changed_.clear();
  }
  void Forget() override { log_.Forget(); }

  bool holds(ClassId canonical) const { return holds_[canonical.value()]; }

 private:
  bool Says(const EGraph& graph, OpId op, std::span<const ClassId> children) const {
    const auto holds = [&](ClassId child) { return holds_[graph.Find(child).value()]; };
    return table_->Name(op) == "a" || std::ranges::any_of(children, holds);
  }
  void Learn(ClassId id) {
    if (holds_[id.value()]) return;
    changed_.push_back(id);
    log_.Save(id, false);
    holds_[id.value()] = true;
  }

  const testing::SymbolTable* const table_;
  std::vector<bool> holds_;  // by ClassId
  ClassLog<bool> log_;
  std::vector<ClassId> changed_;
};

void CollectVariables(const std::vector<Term>& terms, std::set<std::string>& names) {
  for (const Term& term : terms) {
    if (term.sort == Term::Sort::kVariable && !term.repeated) names.insert("?" + term.name);
    CollectVariables(term.children, names);
  }
}

class AllMatches : public MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

struct Setting {
  // What is a match stays one: nothing is pruned and no guard ceases to hold. Then those that wait
  // are among those that a later search finds.
  bool lasting = false;
  bool analysis = false;  // and guards that look at it
};

class Walk {
 public:
  explicit Walk(uint64_t seed, Setting setting = {})
      : setting_(setting),
        rng_(seed),
        analysis_(&table_),
        graph_(&table_, setting.analysis ? &analysis_ : nullptr),
        vocabulary_(testing::SymbolVocabulary(table_)) {
    if (setting.lasting) graph_.KeepHash();
    vocabulary_.guards["has_a"] = {"c",
                                   [this](const EGraph& graph, std::span<const Binding> arguments) {
                                     return analysis_.holds(graph.Find(arguments[0].id));
                                   },
                                   Guard::Otherwise::kNothing};
    for (int i = 0; i < 3; ++i) {
      rules_.push_back(*testing::CompileRule(MakeRule(i), vocabulary_));
      pointers_.push_back(rules_.back().get());
    }
    // Half of the walks with lists by kind, which are else for large classes.
    matcher_ = std::make_unique<Matcher>(table_, pointers_, seed % 2 == 0 ? 0 : ClassLists::kLarge);
    Grow();
  }

  // Marks, changes, perhaps goes deeper, and comes back.
  void GoAndComeBack(int depth) {
    const std::vector<uint32_t> before = testing::ImageOf(graph_);
    const std::vector<size_t> waiting = Waiting();
    const Rng start = rng_;
    graph_.Mark();
    matcher_->Mark();
    Change();
    const std::vector<uint32_t> changed = testing::ImageOf(graph_);
    for (uint64_t i = rng_.Below(3); depth > 0 && i > 0; --i) GoAndComeBack(depth - 1);
    if (rng_.Below(4) == 0) GrowDirty();
    graph_.Rollback();
    matcher_->Rollback();
    ASSERT_EQ(testing::ImageOf(graph_), before);
    ASSERT_EQ(Waiting(), waiting);
    // The same change again has the same outcome: nothing was forgotten that the image lacks.
    const Rng rest = std::exchange(rng_, start);
    graph_.Mark();
    matcher_->Mark();
    Change();
    ASSERT_EQ(testing::ImageOf(graph_), changed);
    graph_.Rollback();
    matcher_->Rollback();
    rng_ = rest;
  }

  void Change() {
    if (rng_.Below(2) == 0) Grow();
    Matcher::Bounds bounds;
    for (size_t i = 0; i < rules_.size(); ++i) bounds.waiting.push_back(rng_.Below(6));
    matcher_->Search(graph_, bounds);
    int left = 20;
    ASSERT_TRUE(
        testing::ApplyAll(*matcher_, rules_.size(), graph_, [&left] { return --left > 0; }).ok());
    ASSERT_TRUE(graph_.Rebuild().ok());
  }

  // True if there was something to find. Leaves all as it was.
  bool FindsWhatIsThere() {
    const uint64_t before = graph_.state_hash();
    const uint64_t found = StateAfter([&] { ApplyAllOf(*matcher_); });
    const uint64_t found_anew = StateAfter([&] {
      Matcher matcher(table_, pointers_);
      ApplyAllOf(matcher);
    });
    const uint64_t from_scratch = StateAfter([&] { ApplyFromScratch(); });
    EXPECT_EQ(found, from_scratch);
    EXPECT_EQ(found_anew, from_scratch);
    return from_scratch != before;
  }

  int64_t size() const { return graph_.num_enodes(); }

 private:
  // Half of the lasting ones say what was matched, of which other right sides may use little.
  std::string MakeRule(int index) {
    std::string text = testing::MakeRandomRule(rng_);
    while (setting_.lasting && absl::StrContains(text, "distinct")) {
      text = testing::MakeRandomRule(rng_);
    }
    const RuleText rule = *ParseRuleText(text);
    std::set<std::string> names;
    for (const std::vector<Term>& root : rule.left) CollectVariables(root, names);
    if (setting_.lasting && rng_.Below(2) == 0) {
      text.resize(text.find("=>"));
      const std::string matched = absl::StrCat("m", index, "(", absl::StrJoin(names, ", "), ")");
      absl::StrAppend(&text, "=> ", matched, rule.left.size() == 2 ? ", " + matched : "");
    }
    if (setting_.analysis && !names.empty() && rule.guards.empty() && rng_.Below(2) == 0) {
      absl::StrAppend(&text, " if has_a(", *names.begin(), ")");
    }
    return text;
  }

  // The state hash of the graph after the change, which is then undone.
  template <typename Change>
  uint64_t StateAfter(const Change& change) {
    graph_.Mark();
    matcher_->Mark();
    change();
    EXPECT_TRUE(graph_.Rebuild().ok());
    const uint64_t state = graph_.state_hash();
    graph_.Rollback();
    matcher_->Rollback();
    return state;
  }

  void ApplyAllOf(Matcher& matcher) {
    matcher.Search(graph_);
    EXPECT_TRUE(testing::ApplyAll(matcher, rules_.size(), graph_).ok());
  }

  // Applies the rules that the matcher takes, each searched from scratch.
  void ApplyFromScratch() {
    std::vector<AllMatches> found(rules_.size());
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (matcher_->takes(i)) rules_[i]->Search(graph_, found[i]);
    }
    for (size_t i = 0; i < rules_.size(); ++i) {
      for (const Match& match : found[i].matches) {
        EXPECT_TRUE(rules_[i]->Apply(graph_, match, 1).ok());
      }
    }
  }

  std::vector<size_t> Waiting() const {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < rules_.size(); ++i) waiting.push_back(matcher_->num_waiting(i));
    return waiting;
  }

  void GrowDirty() {
    for (uint64_t i = 1 + rng_.Below(12); i > 0; --i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng_, graph_.class_bound());
      std::vector<ClassId> children;
      for (size_t child : node.children) children.push_back(ClassId(static_cast<uint32_t>(child)));
      ASSERT_TRUE(graph_.Add(table_.Op(node.word), children).ok());
    }
    for (uint64_t i = rng_.Below(3); i > 0; --i) {
      const ClassId a(static_cast<uint32_t>(rng_.Below(graph_.class_bound())));
      const ClassId b(static_cast<uint32_t>(rng_.Below(graph_.class_bound())));
      ASSERT_TRUE(graph_.Union(a, b).ok());
    }
    if (!setting_.lasting && rng_.Below(8) == 0) {
      graph_.PruneToLeaves(ClassId(static_cast<uint32_t>(rng_.Below(graph_.class_bound()))));
    }
  }

  void Grow() {
    GrowDirty();
    ASSERT_TRUE(graph_.Rebuild().ok());
  }

  const Setting setting_;
  Rng rng_;
  testing::SymbolTable table_;
  ContainsA analysis_;
  EGraph graph_;
  Vocabulary vocabulary_;
  std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<const Rule*> pointers_;
  std::unique_ptr<Matcher> matcher_;
};

TEST(EGraphUndo, RandomWalksComeBackByteForByte) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, {.analysis = seed % 4 == 1});
    for (int i = 0; i < 4 && walk.size() < 300; ++i) {
      walk.GoAndComeBack(3);
      walk.Change();  // stays
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

void GoOnMatchingAfterRollbacks(Setting setting) {
  setting.lasting = true;
  int found = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, setting);
    for (int i = 0; i < 4 && walk.size() < 300; ++i) {
      walk.GoAndComeBack(2);
      found += walk.FindsWhatIsThere();
      walk.Change();  // stays
      found += walk.FindsWhatIsThere();
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(found, 400);
}

TEST(EGraphUndo, MatchingGoesOnAfterRollbacks) { GoOnMatchingAfterRollbacks({}); }

TEST(EGraphUndo, MatchingGoesOnAfterRollbacksWithAnAnalysis) {
  GoOnMatchingAfterRollbacks({.analysis = true});
}

TEST(EGraphUndo, ForgettingAMarkKeepsTheChanges) {
  testing::SymbolTable table;
  EGraph graph(&table, nullptr);
  const ClassId a = *graph.Add(table.Op("a"), {});
  ASSERT_TRUE(graph.Rebuild().ok());
  graph.Mark();
  const std::vector<uint32_t> before = testing::ImageOf(graph);
  graph.Mark();
  ASSERT_TRUE(graph.Add(table.Op("f"), std::vector<ClassId>{a}).ok());
  ASSERT_TRUE(graph.Rebuild().ok());
  graph.Forget();
  EXPECT_EQ(graph.num_enodes(), 2);
  graph.Rollback();
  EXPECT_EQ(testing::ImageOf(graph), before);
  EXPECT_EQ(graph.num_marks(), 0u);
}

}  // namespace
}  // namespace quotient::egraph
