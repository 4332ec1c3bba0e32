// What waits, what is applied, and what a rollback restores: for rules that are matched
// incrementally, and for rules that search the whole graph each time.

#include "core/search/rewriter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/egraph/pattern.h"
#include "tests/support/countdown_clock.h"
#include "tests/support/egraph/graph_text.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::search {
namespace {

using egraph::ClassId;

class RewriterTest : public ::testing::Test {
 protected:
  RewriterTest() {
    // It may look at anything, so rules with it are searched from scratch.
    vocabulary_.guards["any"] = {
        "c", [](const egraph::EGraph&, std::span<const egraph::Binding>) { return true; }};
  }

  // Two rules that do the same: `unary` is matched incrementally, `scratch` is not.
  void Use(absl::string_view rules = "unary: f(?x) => g(?x)\nscratch: f(?x) => h(?x) if any(?x)") {
    auto compiled = egraph::CompileRules(rules, vocabulary_);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    rules_ = *std::move(compiled);
    for (const auto& rule : rules_) pointers_.push_back(rule.get());
  }

  ClassId Term(absl::string_view text) {
    auto added = egraph::AddTerm(graph_, text, vocabulary_);
    EXPECT_TRUE(added.ok()) << added.status();
    return *added;
  }
  // f(a), f(b) and f(c), in a clean graph.
  void AddThree() {
    for (const char* leaf : {"a", "b", "c"}) Term(absl::StrCat("f(", leaf, ")"));
    ASSERT_TRUE(graph_.Rebuild().ok());
  }
  void SearchAll(Rewriter& rewriter, size_t wanted = 100) {
    rewriter.Search(std::vector<size_t>(rules_.size(), wanted), {});
  }
  static std::vector<size_t> Waiting(const Rewriter& rewriter) {
    std::vector<size_t> waiting;
    for (size_t rule = 0; rule < rewriter.num_rules(); ++rule) {
      waiting.push_back(rewriter.num_waiting(rule));
    }
    return waiting;
  }

  using Counts = std::vector<size_t>;

  testing::SymbolTable table_;
  egraph::Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
  egraph::EGraph graph_{&table_, nullptr};
  std::vector<std::unique_ptr<egraph::Rule>> rules_;
  std::vector<const egraph::Rule*> pointers_;
};

TEST_F(RewriterTest, FindsEachMatchOnceWithEitherKindOfSearch) {
  Use();
  AddThree();
  Rewriter rewriter(&graph_, pointers_);
  EXPECT_FALSE(rewriter.searches_from_scratch(0));
  EXPECT_TRUE(rewriter.searches_from_scratch(1));
  SearchAll(rewriter);
  EXPECT_EQ(Waiting(rewriter), Counts({3, 3}));
  SearchAll(rewriter);
  EXPECT_EQ(Waiting(rewriter), Counts({3, 3})) << "nothing changed";
  EXPECT_EQ(*rewriter.ApplyNext(0, 100), 3);
  EXPECT_EQ(*rewriter.ApplyNext(1, 100), 3);
  ASSERT_TRUE(rewriter.Rebuild().ok());
  SearchAll(rewriter);
  EXPECT_EQ(Waiting(rewriter), Counts({0, 0})) << "applied matches are not found again";
}

TEST_F(RewriterTest, NewNodesHaveNewMatches) {
  Use("grow: g(?x) => f(?x)\nunary: f(?x) => h(?x)\nscratch: f(?x) => k(?x) if any(?x)");
  Term("g(a)");
  ASSERT_TRUE(graph_.Rebuild().ok());
  Rewriter rewriter(&graph_, pointers_);
  SearchAll(rewriter);
  EXPECT_EQ(Waiting(rewriter), Counts({1, 0, 0}));
  EXPECT_EQ(*rewriter.ApplyNext(0, 1), 1);
  ASSERT_TRUE(rewriter.Rebuild().ok());
  SearchAll(rewriter);
  EXPECT_EQ(Waiting(rewriter), Counts({0, 1, 1}));
}

TEST_F(RewriterTest, SearchesNoFurtherThanWanted) {
  Use();
  AddThree();
  Rewriter rewriter(&graph_, pointers_);
  rewriter.Search(Counts({0, 0}), {});
  EXPECT_EQ(Waiting(rewriter), Counts({0, 0}));
  rewriter.Search(Counts({1, 2}), {});
  EXPECT_GE(rewriter.num_waiting(0), 1u);
  EXPECT_EQ(rewriter.num_waiting(1), 2u);
  SearchAll(rewriter);
  EXPECT_EQ(Waiting(rewriter), Counts({3, 3})) << "the rest is found later";
}

TEST_F(RewriterTest, AppliesTheOldestFirst) {
  Use();
  AddThree();
  Rewriter rewriter(&graph_, pointers_);
  SearchAll(rewriter);
  EXPECT_EQ(*rewriter.ApplyNext(0, 2), 2);
  EXPECT_EQ(*rewriter.ApplyNext(1, 1), 1);
  EXPECT_EQ(Waiting(rewriter), Counts({1, 2}));
  const auto has = [this](const char* op, const char* leaf) {
    const ClassId child = graph_.Find(Term(leaf));
    return graph_.Lookup(table_.Op(op), std::vector<ClassId>{child}).has_value();
  };
  EXPECT_TRUE(has("g", "a") && has("g", "b") && !has("g", "c"));
  EXPECT_TRUE(has("h", "a") && !has("h", "b"));
}

TEST_F(RewriterTest, ApplyingAWaitingMatchLeavesItInTheQueue) {
  Use();
  AddThree();
  Rewriter rewriter(&graph_, pointers_);
  SearchAll(rewriter);
  for (const size_t rule : {0, 1}) {
    EXPECT_TRUE(*rewriter.ApplyWaiting(rule, 1));
    EXPECT_FALSE(*rewriter.ApplyWaiting(rule, 1)) << "it is there already";
  }
  EXPECT_EQ(Waiting(rewriter), Counts({3, 3}));
}

TEST_F(RewriterTest, AMatchTouchesWhatItRewrites) {
  Use();
  AddThree();
  Rewriter rewriter(&graph_, pointers_);
  SearchAll(rewriter);
  std::vector<bool> classes(graph_.class_bound(), false);
  classes[graph_.Find(Term("f(b)")).value()] = true;
  for (const size_t rule : {0, 1}) {
    EXPECT_FALSE(rewriter.Touches(rule, 0, classes));
    EXPECT_TRUE(rewriter.Touches(rule, 1, classes));
    EXPECT_FALSE(rewriter.Touches(rule, 2, classes));
  }
}

TEST_F(RewriterTest, RollbackRestoresGraphQueuesAndMemory) {
  Use();
  AddThree();
  Rewriter rewriter(&graph_, pointers_);
  SearchAll(rewriter);
  EXPECT_EQ(*rewriter.ApplyNext(0, 1), 1);
  EXPECT_EQ(*rewriter.ApplyNext(1, 1), 1);
  ASSERT_TRUE(rewriter.Rebuild().ok());
  const std::string before = testing::TextOf(graph_);
  for (int round = 0; round < 3; ++round) {
    rewriter.Mark();
    EXPECT_EQ(*rewriter.ApplyNext(0, 2), 2);
    EXPECT_EQ(*rewriter.ApplyNext(1, 2), 2);
    Term("f(d)");
    ASSERT_TRUE(rewriter.Rebuild().ok());
    SearchAll(rewriter);
    EXPECT_EQ(Waiting(rewriter), Counts({1, 1})) << "f(d) is new in every round";
    rewriter.Rollback();
    EXPECT_EQ(testing::TextOf(graph_), before);
    EXPECT_EQ(Waiting(rewriter), Counts({2, 2}));
  }
}

TEST_F(RewriterTest, WhatIsForgottenStays) {
  Use();
  AddThree();
  Rewriter rewriter(&graph_, pointers_);
  SearchAll(rewriter);
  rewriter.Mark();
  EXPECT_EQ(*rewriter.ApplyNext(0, 3), 3);
  EXPECT_EQ(*rewriter.ApplyNext(1, 1), 1);
  ASSERT_TRUE(rewriter.Rebuild().ok());
  rewriter.Forget();
  EXPECT_EQ(Waiting(rewriter), Counts({0, 2}));
  SearchAll(rewriter);
  EXPECT_EQ(Waiting(rewriter), Counts({0, 2}));
}

// A search that is stopped at any moment loses no match.
TEST_F(RewriterTest, AStoppedSearchGoesOnLater) {
  Use();
  for (int i = 0; i < 100; ++i) Term(absl::StrCat("f(leaf", i, ")"));
  ASSERT_TRUE(graph_.Rebuild().ok());
  for (int64_t looks = 1; looks < 200; looks = looks * 3 / 2 + 1) {
    SCOPED_TRACE(looks);
    Rewriter rewriter(&graph_, pointers_);
    const testing::CountdownClock clock(looks);
    rewriter.Search(Counts({1000, 1000}), clock.Stop());
    SearchAll(rewriter, 1000);
    EXPECT_EQ(Waiting(rewriter), Counts({100, 100}));
  }
}

}  // namespace
}  // namespace quotient::search
