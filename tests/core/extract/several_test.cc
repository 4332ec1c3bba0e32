#include "core/extract/several.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExtractionCase;

// Costs of all selections, cheapest first; nothing if there are very many.
class AllSelections {
 public:
  explicit AllSelections(const Problem& problem)
      : problem_(problem), choice_(problem.graph.class_bound()) {
    std::vector<ClassId> needed;
    for (const ClassId root : problem.roots) needed.push_back(problem.graph.Find(root));
    Choose(needed);
    std::ranges::sort(costs_);
  }
  std::optional<std::vector<double>> costs() const {
    if (known_.size() > kMost) return std::nullopt;
    return costs_;
  }

 private:
  static constexpr size_t kMost = 5'000;

  void Choose(std::vector<ClassId> open) {
    while (!open.empty() && choice_[open.back().value()].valid()) open.pop_back();
    if (open.empty()) return Finish();
    const ClassId id = open.back();
    open.pop_back();
    for (const ENodeId node : problem_.graph.nodes(id)) {
      if (!std::isfinite(problem_.cost.Cost(node)) || known_.size() > kMost) continue;
      choice_[id.value()] = node;
      std::vector<ClassId> next = open;
      for (const ClassId child : problem_.graph.node(node).children) {
        next.push_back(problem_.graph.Find(child));
      }
      Choose(std::move(next));
    }
    choice_[id.value()] = ENodeId();
  }

  void Finish() {
    Selection selection;
    selection.choice = choice_;
    const absl::StatusOr<double> cost = CheckSelection(problem_, selection);
    if (cost.ok() && known_.insert(choice_).second) costs_.push_back(*cost);
  }

  const Problem& problem_;
  std::vector<ENodeId> choice_;
  std::set<std::vector<ENodeId>> known_;
  std::vector<double> costs_;
};

// Each is a selection, no two are the same, the cheapest comes first. Returns their costs.
std::vector<double> CheckedCosts(const Problem& problem, const std::vector<Selection>& found) {
  std::set<std::vector<ENodeId>> choices;
  std::vector<double> costs;
  for (const Selection& selection : found) {
    EXPECT_NEAR(*CheckSelection(problem, selection), selection.cost, 1e-9);
    EXPECT_LE(selection.lower_bound, found.front().cost + 1e-9);
    EXPECT_TRUE(choices.insert(selection.choice).second);
    costs.push_back(selection.cost);
  }
  EXPECT_TRUE(std::ranges::is_sorted(costs));
  return costs;
}

ExtractionCase RandomCase(uint64_t seed) {
  Rng rng(seed);
  if (seed % 3 == 0) return ExtractionCase::Random(rng, 8);
  if (seed % 3 == 1) return ExtractionCase::RandomWithFusions(rng, 8);
  return ExtractionCase::RandomWithSharedKernels(rng, 8);
}

const Extractor& Named(const char* name) { return *FindExtractor(name); }

// Two choices of two, which are independent: four selections.
ExtractionCase TwoChoices() {
  return ExtractionCase(3, {{0, 1, {}}, {0, 3, {}}, {1, 10, {}}, {1, 14, {}}, {2, 0, {0, 1}}}, {2});
}

TEST(ExtractSeveral, FindsAllThereAreInOrder) {
  const ExtractionCase example = TwoChoices();
  for (const char* name : {"dag", "exact"}) {
    const auto best = ExtractSeveral(example.problem(), Named(name), {.count = 10}, {});
    ASSERT_TRUE(best.ok());
    EXPECT_EQ(CheckedCosts(example.problem(), *best), (std::vector<double>{11, 13, 15, 17}));
  }
}

TEST(ExtractSeveral, NoneIsDearerThanAllowed) {
  const ExtractionCase example = TwoChoices();
  for (const auto& [within, number] : {std::pair(0.0, 1), {0.18, 1}, {0.19, 2}, {0.4, 3}}) {
    const auto best =
        ExtractSeveral(example.problem(), Named("exact"), {.count = 10, .within = within}, {});
    EXPECT_EQ(best->size(), number) << within;
  }
}

TEST(ExtractSeveral, EquallyCheapOnesAreNotDearer) {
  const ExtractionCase example(2, {{0, 0, {}}, {0, 0, {}}, {0, 0, {}}, {1, 0, {0}}}, {1});
  EXPECT_EQ(ExtractSeveral(example.problem(), Named("dag"), {.count = 5, .within = 0}, {})->size(),
            3);
}

// The second one differs from the first in a class that the first does not need.
TEST(ExtractSeveral, WhatIsNotNeededMakesNoDifference) {
  const ExtractionCase example(3, {{0, 1, {}}, {0, 2, {}}, {1, 1, {}}, {1, 5, {0}}, {2, 0, {1}}},
                               {2});
  const auto best = ExtractSeveral(example.problem(), Named("exact"), {.count = 10}, {});
  EXPECT_EQ(CheckedCosts(example.problem(), *best), (std::vector<double>{1, 6, 7}));
}

// Three equal leaves and a dear one: two kinds.
TEST(ExtractSeveral, OfAKindTheCheapestCounts) {
  const ExtractionCase example(
      2, {{0, 1, {}}, {0, 1, {}}, {0, 1, {}}, {0, 4, {}}, {0, 5, {}}, {1, 0, {0}}}, {1});
  const SeveralOptions options = {
      .count = 8, .kind = [](const Selection& selection) { return selection.cost > 2; }};
  for (const char* name : {"dag", "exact"}) {
    const auto best = ExtractSeveral(example.problem(), Named(name), options, {});
    EXPECT_EQ(CheckedCosts(example.problem(), *best), (std::vector<double>{1, 4}));
  }
}

// As many as there are, and the best of them where the extractor is exact.
TEST(ExtractSeveral, AreTheBestThatThereAre) {
  int num_cases = 0;
  int num_best = 0;
  for (uint64_t seed = 0; seed < 4'000; ++seed) {
    SCOPED_TRACE(seed);
    const ExtractionCase example = RandomCase(seed);
    const Problem problem = example.problem();
    const auto all = AllSelections(problem).costs();
    if (!all.has_value()) continue;
    const size_t count = 1 + seed % 8;
    for (const char* name : {"exact", "dag"}) {
      const auto found = ExtractSeveral(problem, Named(name), {.count = count}, {});
      ASSERT_EQ(found.ok(), !all->empty());
      if (!found.ok()) continue;
      const std::vector<double> costs = CheckedCosts(problem, *found);
      ASSERT_EQ(costs.size(), std::min(count, all->size())) << name;
      bool best = true;
      for (size_t i = 0; i < costs.size(); ++i) best &= costs[i] <= (*all)[i] + 1e-6;
      EXPECT_TRUE(best || Named(name).optimal_for() == std::string("nothing"));
      if (Named(name).optimal_for() != std::string("nothing")) continue;
      ++num_cases;
      num_best += best;
    }
  }
  EXPECT_GT(num_cases, 2'000);
  EXPECT_GT(num_best, num_cases * 95 / 100);
}

TEST(ExtractSeveral, TheFirstIsAsCheapAsTheExtractorsAnswer) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const ExtractionCase example = RandomCase(seed);
    const auto dag = Named("dag").Extract(example.problem(), {});
    const auto found = ExtractSeveral(example.problem(), Named("dag"), {}, {});
    ASSERT_EQ(found.ok(), dag.ok());
    if (!found.ok()) continue;
    EXPECT_LE(found->front().cost, dag->cost + 1e-9);
  }
}

TEST(ExtractSeveral, IsDeterministic) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const ExtractionCase example = RandomCase(seed);
    const auto once = ExtractSeveral(example.problem(), Named("dag"), {.count = 8}, {});
    const auto twice = ExtractSeveral(example.problem(), Named("dag"), {.count = 8}, {});
    ASSERT_EQ(once.ok(), twice.ok());
    for (size_t i = 0; once.ok() && i < once->size(); ++i) {
      EXPECT_EQ((*once)[i].choice, (*twice)[i].choice);
    }
  }
}

TEST(ExtractSeveral, StoppedThereIsOne) {
  CancelToken token;
  token.Cancel();
  const ExtractionCase example(2, {{0, 1, {}}, {0, 3, {}}, {1, 0, {0}}}, {1});
  EXPECT_EQ(
      ExtractSeveral(example.problem(), Named("dag"), {.count = 5}, StopCondition(&token))->size(),
      1);
}

}  // namespace
}  // namespace quotient::extract
