// The situations that the compound moves are for.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/extract/extract.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseNode;
using ::quotient::testing::ExtractionCase;

double DagCost(const ExtractionCase& example) {
  const absl::StatusOr<Selection> selection = FindExtractor("dag")->Extract(example.problem(), {});
  EXPECT_TRUE(selection.ok()) << selection.status();
  const absl::StatusOr<double> cost = CheckSelection(example.problem(), *selection);
  EXPECT_TRUE(cost.ok()) << cost.status();
  return *cost;
}

double TreeExtractorsCost(const ExtractionCase& example) {
  return FindExtractor("tree")->Extract(example.problem(), {})->cost;
}

// n products of cost 3, each also a part of one merged product of cost 4: taking it alone never
// pays, all together do.
TEST(DagExtractor, AdoptsAMergedOperatorForAllItsUsersAtOnce) {
  constexpr size_t kInput = 0, kMerged = 1, kSum = 2, kFirst = 3;
  std::vector<CaseNode> nodes = {{kInput, 0, {}}, {kMerged, 4, {kInput}}, {kSum, 1, {}}};
  for (size_t i = kFirst; i < kFirst + 5; ++i) {
    nodes.push_back({i, 3, {kInput}});
    nodes.push_back({i, 0, {kMerged}});
    nodes[2].children.push_back(i);
  }
  const ExtractionCase example(kFirst + 5, nodes, {kSum});
  EXPECT_EQ(TreeExtractorsCost(example), 16);
  EXPECT_EQ(DagCost(example), 5);
}

// The same through two splits of no cost, as pairwise merging leaves them.
TEST(DagExtractor, AdoptsThroughENodesOfNoCost) {
  constexpr size_t kInput = 0, kMerged = 1, kSum = 2, kLow = 3, kHigh = 4, kFirst = 5;
  std::vector<CaseNode> nodes = {{kInput, 0, {}},      {kMerged, 4, {kInput}}, {kSum, 1, {}},
                                 {kLow, 5, {kInput}},  {kLow, 0, {kMerged}},   {kHigh, 5, {kInput}},
                                 {kHigh, 0, {kMerged}}};
  for (size_t i = kFirst; i < kFirst + 4; ++i) {
    nodes.push_back({i, 2, {kInput}});
    nodes.push_back({i, 0, {i < kFirst + 2 ? kLow : kHigh}});
    nodes[2].children.push_back(i);
  }
  const ExtractionCase example(kFirst + 4, nodes, {kSum});
  EXPECT_EQ(TreeExtractorsCost(example), 9);
  EXPECT_EQ(DagCost(example), 5);
}

// Layers of two products each, which a merged one can compute for one layer or for two neighbours.
// From 1 | 2 3 | 4 to 1 2 | 3 4: neither pair pays as long as 2 3 is there, both together do.
TEST(DagExtractor, AdoptsTwoWhereOneDoesNotPay) {
  constexpr size_t kLayers = 4;
  constexpr size_t kInput = 0, kSum = 1, kFirst = 2;  // then products, singles, pairs
  constexpr size_t kSingle = kFirst + 2 * kLayers, kPair = kSingle + kLayers;
  std::vector<CaseNode> nodes = {{kInput, 0, {}}, {kSum, 1, {}}};
  const auto reads = [&](size_t layer, size_t merged) {
    for (const size_t half : {0, 1}) nodes.push_back({kFirst + 2 * layer + half, 0, {merged}});
  };
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (const size_t half : {0, 1}) {
      nodes.push_back({kFirst + 2 * layer + half, 3, {kInput}});
    }
    nodes.push_back({kSingle + layer, 5, {kInput}});
    reads(layer, kSingle + layer);
  }
  // From the second layer on, so that 2 3 is met first.
  for (size_t i = 1; i <= kLayers; ++i) {
    for (const size_t half : {0, 1}) {
      nodes[1].children.push_back(kFirst + 2 * (i % kLayers) + half);
    }
  }
  for (const size_t parity : {1, 0}) {
    for (size_t layer = parity; layer + 1 < kLayers; layer += 2) {
      nodes.push_back({kPair + layer, 7, {kInput}});
      reads(layer, kPair + layer);
      reads(layer + 1, kPair + layer);
    }
  }
  const ExtractionCase example(kPair + kLayers - 1, nodes, {kSum});
  EXPECT_EQ(DagCost(example), 1 + 7 * kLayers / 2);
}

// The merged operator reads one of its would-be users: adopting it there would close a cycle.
TEST(DagExtractor, DoesNotAdoptIntoACycle) {
  constexpr size_t kInput = 0, kMerged = 1, kSum = 2, kA = 3, kB = 4;
  const ExtractionCase example(5,
                               {{kInput, 0, {}},
                                {kMerged, 1, {kA}},
                                {kSum, 1, {kA, kB}},
                                {kA, 3, {kInput}},
                                {kA, 0, {kMerged}},
                                {kB, 3, {kInput}},
                                {kB, 0, {kMerged}}},
                               {kSum});
  EXPECT_EQ(DagCost(example), 5);
}

// The tree cost prefers the user of class 1, but class 0 is there anyway.
TEST(DagExtractor, EqualCostsPreferFewerClasses) {
  const ExtractionCase example(
      4, {{0, 1, {}}, {1, 0, {}}, {2, 2, {0}}, {2, 2, {1}}, {3, 0, {2, 0}}}, {3});
  const Selection tree = *FindExtractor("tree")->Extract(example.problem(), {});
  const Selection dag = *FindExtractor("dag")->Extract(example.problem(), {});
  EXPECT_EQ(tree.cost, 3);
  EXPECT_EQ(dag.cost, 3);
  EXPECT_TRUE(tree.of(example.id(1)).valid());
  EXPECT_FALSE(dag.of(example.id(1)).valid());
}

// Two spellings of one chain. The younger is chosen where it is cheaper, and nowhere else.
TEST(Extractors, WhatDoesNotPayStaysAsItWas) {
  constexpr size_t kInput = 0, kA = 1, kOtherA = 2, kB = 3;
  for (const double cost_of_rewrite : {0.0, 1.0, 2.0}) {
    const ExtractionCase example(4,
                                 {{kInput, 0, {}},
                                  {kOtherA, 0, {kInput}, 5},
                                  {kB, cost_of_rewrite, {kOtherA}, 5},
                                  {kA, 0, {kInput}},
                                  {kB, 1, {kA}}},
                                 {kB});
    for (const Extractor* extractor : AllExtractors()) {
      // As published it takes the first of equals.
      if (absl::string_view(extractor->name()) == "history") continue;
      const Selection selection = *extractor->Extract(example.problem(), {});
      EXPECT_EQ(selection.of(example.id(kOtherA)).valid(), cost_of_rewrite < 1)
          << extractor->name() << " at " << cost_of_rewrite;
    }
  }
}

// Costs of twelve orders of magnitude: what a dear e-node left behind in a sum was once taken for a
// gain, thousands of times.
TEST(DagExtractor, ClimbsOnNothingButGains) {
  constexpr size_t kCopies = 20, kClasses = 7;
  std::vector<CaseNode> nodes;
  std::vector<size_t> roots;
  for (size_t copy = 0; copy < kCopies; ++copy) {
    const size_t root = copy * kClasses, a = root + 1, b = root + 2, c = root + 3, d = root + 4,
                 leaf = root + 5;
    nodes.insert(nodes.end(), {{root, 1.2260654e-05, {c, a}},
                               {a, 0.01231095165594, {leaf}},
                               {a, 2.2266275e-06, {leaf, c, b}},
                               {b, 18295.072645113953, {leaf}},
                               {c, 1.1459199e-05, {leaf}},
                               {c, 131140.60096502365, {leaf, d}},
                               {d, 209498.63159715044, {leaf, leaf}},
                               {d, 888.0427472263448, {leaf}},
                               {leaf, 2.0239194e-07, {}}});
    roots.push_back(root);
  }
  const ExtractionCase example(kCopies * kClasses, nodes, roots);
  EXPECT_NEAR(DagCost(example), kCopies * 0.0123348737, 1e-8);
}

// What may not be chosen may be, but is too dear.
class DearInsteadOfForbidden : public CostFunction {
 public:
  DearInsteadOfForbidden(const CostFunction& cost, double dear) : cost_(cost), dear_(dear) {}
  double Cost(ENodeId node) const override { return std::min(cost_.Cost(node), dear_); }

 private:
  const CostFunction& cost_;
  const double dear_;
};

// E-nodes that nobody wants, one for each class, so dear that they swallow all others in a sum.
TEST(Extractors, WhatIsTooDearMakesNoDifference) {
  int solvable = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 40);
    const absl::StatusOr<Selection> exact = FindExtractor("exact")->Extract(example.problem(), {});
    if (!exact.ok()) continue;
    ++solvable;
    const Selection dag = *FindExtractor("dag")->Extract(example.problem(), {});
    for (const double dear : {1e6, 1e12, 1e15, 1e18, 1e30, 1e300}) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", dear));
      const DearInsteadOfForbidden cost(example, dear);
      const Problem problem = {example.problem().graph, cost, example.problem().roots};
      EXPECT_EQ(FindExtractor("dag")->Extract(problem, {})->cost, dag.cost);
      const Selection again = *FindExtractor("exact")->Extract(problem, {});
      EXPECT_EQ(again.cost, exact->cost);
      EXPECT_NEAR(again.lower_bound, exact->cost, 1e-6 * exact->cost);
    }
  }
  EXPECT_GT(solvable, 150);
}

TEST(DagExtractor, StoppedItStillAnswers) {
  CancelToken token;
  token.Cancel();
  const ExtractionCase example(2, {{0, 1, {}}, {1, 1, {0, 0}}}, {1});
  const absl::StatusOr<Selection> selection =
      FindExtractor("dag")->Extract(example.problem(), StopCondition(&token));
  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection->cost, 2);
}

TEST(DagExtractor, DeepChainsTakeNoStack) {
  constexpr size_t kDepth = 10'000;
  std::vector<CaseNode> nodes = {{0, 1, {}}};
  for (size_t i = 1; i < kDepth; ++i) nodes.push_back({i, 1, {i - 1}});
  const ExtractionCase example(kDepth, nodes, {kDepth - 1});
  EXPECT_EQ(DagCost(example), kDepth);
}

// Each class can be had from the one before it, or for more from the one before that one and the
// one behind it. What a switch would free, and cycles, are not looked for down the whole chain each
// time, which took half a minute.
TEST(DagExtractor, LongCyclesTakeLittleTime) {
  constexpr size_t kLength = 20'000;
  std::vector<CaseNode> nodes = {{0, 1, {}}, {1, 1, {0}}};
  for (size_t i = 2; i < kLength; ++i) {
    nodes.push_back({i, 1, {i - 1}});
    nodes.push_back({i, 1.5, {i - 2, i + 1 < kLength ? i + 1 : 0}});
  }
  const ExtractionCase example(kLength, nodes, {kLength - 1});
  EXPECT_EQ(DagCost(example), kLength - 0.5);
}

TEST(Extractors, AreFoundByName) {
  EXPECT_STREQ(FindExtractor("tree")->optimal_for(), "tree");
  EXPECT_STREQ(FindExtractor("dag")->optimal_for(), "nothing");
  EXPECT_STREQ(FindExtractor("ilp")->optimal_for(), "dag");
  EXPECT_EQ(FindExtractor("no such"), nullptr);
}

TEST(Extractors, BoundsAreBelowWhatIsFound) {
  // Two forced leaves and the dearer path.
  const ExtractionCase example(3, {{0, 2, {}}, {1, 3, {}}, {2, 1, {0, 1}}, {2, 9, {0}}}, {2});
  const Selection selection = *FindExtractor("dag")->Extract(example.problem(), {});
  EXPECT_EQ(selection.cost, 6);
  EXPECT_EQ(selection.lower_bound, 4);
}

}  // namespace
}  // namespace quotient::extract
