// Each wrong rewrite is caught by checking, and README.md says by which set and binding.

#include "tests/core/verify/wrong_rules.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "core/verify/checker.h"
#include "tests/support/graphs.h"

namespace quotient::verify {
namespace {

using testing::Rewrite;

// First dimensions that are no numbers are measured at 1, others at 8.
Shapes MeasuredShapes(const model::Graph& graph) {
  Shapes shapes;
  for (model::ValueId id : graph.inputs) {
    const model::Value& input = graph.value(id);
    if (input.type.is_static()) continue;
    std::vector<int64_t>& dims = shapes[input.name];
    for (const model::Dim& dim : *input.type.shape) {
      dims.push_back(dim.is_number() ? dim.number() : dims.empty() ? 1 : 8);
    }
  }
  return shapes;
}

struct Side {
  explicit Side(const std::string& text)
      : graph(testing::MustParse(text)), measured(MeasuredShapes(graph)) {
    auto at = CutAt(graph, measured, 1, {});
    EXPECT_TRUE(at.ok()) << at.status() << text;
    if (at.ok()) cut = *std::move(at);
  }
  Checked checked() const { return {&graph, &cut}; }

  model::Graph graph;
  Shapes measured;
  CutGraph cut;
};

Verdict CheckRewrite(const Rewrite& rewrite, uint64_t seed) {
  const Side left(rewrite.Left()), right(rewrite.Right());
  absl::StatusOr<Checker> checker =
      Checker::Create(left.checked(), left.measured, {.seed = seed}, {});
  EXPECT_TRUE(checker.ok()) << checker.status();
  if (!checker.ok()) return {};
  const absl::StatusOr<Verdict> verdict = checker->Check(right.checked(), {});
  EXPECT_TRUE(verdict.ok()) << verdict.status();
  return verdict.value_or(Verdict());
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// At the first seed; the table is in README.md.
TEST(WrongRulesTest, EachIsCaughtAndTheTableSaysBy) {
  std::string table =
      "| rewrite | what it takes for granted | dims | inputs |\n| --- | --- | --- | --- |\n";
  for (const Rewrite& rewrite : testing::WrongRewrites()) {
    const Verdict verdict = CheckRewrite(rewrite, 0);
    EXPECT_FALSE(verdict.passed) << rewrite.name << ": " << rewrite.claim;
    absl::StrAppend(&table, "| ", rewrite.name, " | ", rewrite.claim, " | ",
                    verdict.binding.empty() ? "those of measuring" : verdict.binding, " | ",
                    verdict.set.empty() ? "any" : verdict.set, " |\n");
  }
  EXPECT_GE(testing::WrongRewrites().size(), 30u);
  EXPECT_TRUE(absl::StrContains(Read("tests/core/verify/README.md"), table)) << table;
}

TEST(WrongRulesTest, EachIsCaughtWhateverTheSeed) {
  for (const Rewrite& rewrite : testing::WrongRewrites()) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      EXPECT_FALSE(CheckRewrite(rewrite, seed).passed) << rewrite.name << " at seed " << seed;
    }
  }
}

TEST(RightRulesTest, NoneIsRefused) {
  for (const Rewrite& rewrite : testing::RightRewrites()) {
    for (uint64_t seed = 0; seed <= 8; ++seed) {
      const Verdict verdict = CheckRewrite(rewrite, seed);
      EXPECT_TRUE(verdict.passed) << rewrite.name << " at seed " << seed << ": " << verdict.failure;
    }
  }
}

}  // namespace
}  // namespace quotient::verify
