// All extractors against the best of all selections, on random small e-graphs with cycles.

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/extract/extract.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExhaustiveOptimum;
using ::quotient::testing::ExtractionCase;
using ::quotient::testing::Optimum;

// Σ over roots, each class paid for at each use.
double TreeCost(const Problem& problem, const Selection& selection, ClassId id) {
  const ENodeId node = selection.of(problem.graph.Find(id));
  double sum = problem.cost.Cost(node);
  for (ClassId child : problem.graph.node(node).children) {
    sum += TreeCost(problem, selection, child);
  }
  return sum;
}

TEST(ExtractOracle, ExtractorsAgreeWithExhaustiveSearch) {
  int solvable = 0;
  int dag_missed = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 8);
    const Problem problem = example.problem();
    const std::optional<Optimum> optimum = ExhaustiveOptimum(problem);
    for (const Extractor* extractor : AllExtractors()) {
      SCOPED_TRACE(extractor->name());
      const absl::StatusOr<Selection> selection = extractor->Extract(problem, StopCondition());
      ASSERT_EQ(selection.ok(), optimum.has_value()) << selection.status();
      if (!selection.ok()) {
        EXPECT_EQ(selection.status().code(), absl::StatusCode::kNotFound);
        continue;
      }
      const absl::StatusOr<double> checked = CheckSelection(problem, *selection);
      ASSERT_TRUE(checked.ok()) << checked.status();
      EXPECT_DOUBLE_EQ(*checked, selection->cost);
      EXPECT_GE(selection->cost, optimum->dag_cost);
      EXPECT_LE(selection->lower_bound, optimum->dag_cost);
    }
    if (!optimum.has_value()) continue;
    ++solvable;
    const Selection tree = *FindExtractor("tree")->Extract(problem, StopCondition());
    double tree_cost = 0;
    const ClassId first = problem.graph.Find(problem.roots.front());
    const ClassId last = problem.graph.Find(problem.roots.back());
    tree_cost += TreeCost(problem, tree, first);
    if (last != first) tree_cost += TreeCost(problem, tree, last);
    EXPECT_DOUBLE_EQ(tree_cost, optimum->tree_cost);

    const Selection dag = *FindExtractor("dag")->Extract(problem, StopCondition());
    EXPECT_LE(dag.cost, tree.cost);
    EXPECT_LE(dag.cost, optimum->dag_cost * 1.5);
    dag_missed += dag.cost > optimum->dag_cost;
  }
  EXPECT_GT(solvable, 2000);
  // Local search may miss the optimum, but not often.
  EXPECT_LE(dag_missed, solvable / 100) << dag_missed;
  RecordProperty("dag_missed", dag_missed);
}

}  // namespace
}  // namespace quotient::extract
