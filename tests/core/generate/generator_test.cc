#include "core/generate/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/rules/rule_set.h"
#include "tests/core/generate/small_universe.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

Outcome OutcomeOf(const Universe& universe, const Options& options) {
  std::vector<std::string> known;
  const auto outcome = Generate(universe, options, known);
  EXPECT_OK(outcome.status());
  return outcome.value_or(Outcome());
}

std::vector<std::string> RulesOf(const Outcome& outcome) {
  std::vector<std::string> rules;
  for (const Found& found : outcome.found) rules.push_back(found.proof.rule);
  return rules;
}

TEST(Generator, FindsARuleThatWasTakenAway) {
  const Universe universe = SmallUniverseOf({"Neg"});
  EXPECT_THAT(RulesOf(OutcomeOf(universe, {.size = 2})), IsEmpty());
  EXPECT_THAT(RulesOf(OutcomeOf(universe, {.size = 2, .without = {"neg-neg"}})),
              ElementsAre("neg-neg: Neg(Neg(?x)) => ?x"));
  const Universe concat = SmallUniverseOf({"Concat", "Relu"});
  const std::string rule =
      "concat-relu-relu: Concat[?A](Relu(?x), Relu(?y)) => Relu(Concat[?A](?x, ?y))";
  EXPECT_THAT(RulesOf(OutcomeOf(concat, {.size = 3})), Not(Contains(rule)));
  EXPECT_THAT(RulesOf(OutcomeOf(concat, {.size = 3, .without = {"concat-of-unary"}})),
              Contains(rule));
}

TEST(Generator, WhatIsFoundBeforeIsNotFoundAgain) {
  std::vector<std::string> known;
  const Universe universe = SmallUniverseOf({"Max", "Relu"});
  ASSERT_OK_AND_ASSIGN(const Outcome first, Generate(universe, {.size = 2}, known));
  EXPECT_THAT(RulesOf(first), Contains(HasSubstr(": Max(?x, Relu(?y)) => Relu(Max(?x, ?y))")));
  EXPECT_FALSE(known.empty());
  ASSERT_OK_AND_ASSIGN(const Outcome second, Generate(universe, {.size = 2}, known));
  EXPECT_THAT(RulesOf(second), IsEmpty());
}

// core/rules has a max-relu, which is another one.
TEST(Generator, NoTwoRulesHaveOneName) {
  std::vector<std::string> known;
  std::set<std::string> names;
  for (const std::string& name : rules::RuleNames()) names.insert(name);
  for (const char* other : {"Relu", "Neg"}) {
    const Universe universe = SmallUniverseOf({"Max", "Add", other});
    ASSERT_OK_AND_ASSIGN(const Outcome outcome, Generate(universe, {.size = 3}, known));
    for (const std::string& rule : RulesOf(outcome)) {
      EXPECT_TRUE(names.insert(rule.substr(0, rule.find(':'))).second) << rule;
    }
  }
  EXPECT_TRUE(names.contains("max-relu-2"));
}

TEST(Generator, SaysHowFarItIs) {
  std::vector<Progress> all;
  Options options{.size = 2};
  options.progress = [&all](const Progress& progress) { all.push_back(progress); };
  const Outcome outcome = OutcomeOf(SmallUniverseOf({"Max", "Relu"}), options);
  ASSERT_FALSE(all.empty());
  std::set<std::pair<Progress::Phase, int>> steps;
  for (size_t i = 0; i < all.size(); ++i) {
    steps.insert({all[i].phase, all[i].size});
    EXPECT_LE(all[i].done, all[i].candidates);
    EXPECT_GE(all[i].graphs, i == 0 ? 0 : all[i - 1].graphs);
  }
  using Phase = Progress::Phase;
  EXPECT_THAT(steps,
              UnorderedElementsAre(std::pair(Phase::kEnumerating, 1), std::pair(Phase::kProving, 1),
                                   std::pair(Phase::kEnumerating, 2), std::pair(Phase::kProving, 2),
                                   std::pair(Phase::kDropping, 2)));
  EXPECT_EQ(all.back().graphs, outcome.counts.terms);
  EXPECT_EQ(all.back().found, outcome.counts.proved);
}

TEST(Generator, StepsLeaveEverLess) {
  const Counts counts = OutcomeOf(SmallUniverse(), {.size = 2}).counts;
  EXPECT_GT(counts.terms, 100);
  EXPECT_EQ(counts.values + counts.equations, counts.terms + 4) << "values of variables count";
  EXPECT_GT(counts.equations, counts.renamed);
  EXPECT_GT(counts.renamed, counts.underived);
  EXPECT_GE(counts.underived, counts.independent);
  EXPECT_GE(counts.independent, counts.proved);
  EXPECT_GE(counts.proved, counts.kept);
  EXPECT_GT(counts.kept, 0);
}

TEST(Generator, RulesAreWrittenTowardsTheCheaperSide) {
  const Universe universe = SmallUniverseOf({"ReduceMax", "Relu"});
  Options options{.size = 2, .without = {"reducemax-of-rising"}};
  EXPECT_THAT(RulesOf(OutcomeOf(universe, options)),
              Contains("reducemax-relu: ReduceMax[?A](Relu(?x)) => Relu(ReduceMax[?A](?x)) if "
                       "has_elements(?x)"));
  options.price = [](const model::Graph& graph) -> absl::StatusOr<double> {
    return graph.nodes.back().op == "Relu" ? 2 : 1;
  };
  const Outcome outcome = OutcomeOf(universe, options);
  const auto found = std::ranges::find_if(outcome.found, &Found::pays);
  ASSERT_NE(found, outcome.found.end());
  EXPECT_EQ(found->proof.rule,
            "relu-reducemax: Relu(ReduceMax[?A](?x)) => ReduceMax[?A](Relu(?x)) if "
            "has_elements(?x)");
}

TEST(Generator, IsTheSameForASeed) {
  const Outcome one = OutcomeOf(SmallUniverse(), {.size = 2, .seed = 5});
  const Outcome other = OutcomeOf(SmallUniverse(), {.size = 2, .seed = 5});
  EXPECT_EQ(RulesOf(one), RulesOf(other));
  EXPECT_EQ(one.refuted, other.refuted);
}

TEST(Generator, CoverageTellsWhatIsMissing) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Universe> universes, UniversesNamed("taso-rules-images"));
  ASSERT_OK_AND_ASSIGN(const Coverage without, CoverageOfTaso(universes[0], {}));
  EXPECT_GT(without.num_present, 5);
  EXPECT_EQ(without.missing.size(), static_cast<size_t>(without.num_rules - without.num_present));
  EXPECT_THAT(without.missing, Contains("N2 114"));
  ASSERT_OK_AND_ASSIGN(const Coverage with,
                       CoverageOfTaso(universes[0], {"n2: Concat[axis=1](Conv[?c](?x, ?v), "
                                                     "Conv[?c](?x, ?w)) => Conv[?c](?x, "
                                                     "Concat[axis=0](?v, ?w))"}));
  EXPECT_THAT(with.missing, Not(Contains("N2 114")));
}

}  // namespace
}  // namespace quotient::generate
