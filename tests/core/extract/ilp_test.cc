#include "core/extract/ilp.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/branch_and_cut.h"
#include "core/extract/extract.h"
#include "core/extract/ilp_presolve.h"
#include "core/extract/instance.h"
#include "core/extract/to_selection.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::CaseNode;
using ::quotient::testing::ExhaustiveOptimum;
using ::quotient::testing::ExtractionCase;
using ::quotient::testing::Optimum;

Selection Extract(const ExtractionCase& example, const StopCondition& stop = {}) {
  const Selection selection = *IlpExtractor().Extract(example.problem(), stop);
  const absl::StatusOr<double> cost = CheckSelection(example.problem(), selection);
  EXPECT_TRUE(cost.ok()) << cost.status();
  EXPECT_DOUBLE_EQ(*cost, selection.cost);
  EXPECT_LE(selection.lower_bound, selection.cost);
  return selection;
}

// Layers of classes whose e-nodes take children from the layers below, and some from above.
ExtractionCase Layered(uint64_t seed, size_t num_classes) {
  Rng rng(seed);
  std::vector<CaseNode> nodes;
  for (size_t i = 0; i < num_classes; ++i) {
    for (uint64_t n = 1 + rng.Below(4); n > 0; --n) {
      CaseNode node = {i, static_cast<double>(1 + rng.Below(20)), {}};
      for (uint64_t c = 1 + rng.Below(3); c > 0 && i > 0; --c) {
        const size_t low = i > 30 ? i - 30 : 0;
        node.children.push_back(rng.Below(8) > 0 ? low + rng.Below(i - low)
                                                 : rng.Below(num_classes));
      }
      nodes.push_back(std::move(node));
    }
    nodes.push_back({i, 60, {}});
  }
  return ExtractionCase(num_classes, nodes, {num_classes - 1, num_classes / 2});
}

TEST(IlpExtractor, ProvesTheOptimumOfSmallCases) {
  int solvable = 0;
  for (uint64_t seed = 10'000; seed < 11'500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 10);
    const std::optional<Optimum> optimum = ExhaustiveOptimum(example.problem());
    if (!optimum.has_value()) continue;
    ++solvable;
    const Selection selection = Extract(example);
    EXPECT_NEAR(selection.cost, optimum->dag_cost, 1e-9);
    EXPECT_NEAR(selection.lower_bound, optimum->dag_cost, 1e-6 * optimum->dag_cost);
    EXPECT_LE(selection.lower_bound, optimum->dag_cost);
  }
  EXPECT_GT(solvable, 1000);
}

// Without an answer to start from there is more left to do.
TEST(IlpExtractor, FindsTheOptimumItself) {
  for (uint64_t seed = 20'000; seed < 20'500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 10);
    const std::optional<Optimum> optimum = ExhaustiveOptimum(example.problem());
    if (!optimum.has_value()) continue;
    const Instance instance = *MakeInstance(example.problem());
    const double cutoff = optimum->dag_cost * 2 + 1;
    const std::optional<Instance> reduced = Presolve(instance, cutoff, {});
    ASSERT_TRUE(reduced.has_value());
    for (const Instance* problem : {&instance, &*reduced}) {
      const BranchAndCutResult result = BranchAndCut(*problem, cutoff, {});
      ASSERT_TRUE(result.choice.has_value());
      const Selection selection = ToSelection(example.problem(), *problem, *result.choice);
      EXPECT_TRUE(CheckSelection(example.problem(), selection).ok());
      EXPECT_NEAR(selection.cost, optimum->dag_cost, 1e-9);
      EXPECT_EQ(selection.cost, result.cost);
      EXPECT_NEAR(result.lower_bound, optimum->dag_cost, 1e-6 * cutoff);
      EXPECT_LE(result.lower_bound, optimum->dag_cost);
    }
    if (optimum->dag_cost > 0) {
      const std::optional<Instance> nothing = Presolve(instance, optimum->dag_cost, {});
      if (!nothing.has_value()) continue;
      EXPECT_FALSE(BranchAndCut(*nothing, optimum->dag_cost, {}).choice.has_value());
    }
  }
}

// Each element in two or three sets, sets that lead to others in cycles: relaxations of covers have
// gaps, so that the search has to branch.
ExtractionCase Covering(Rng& rng, size_t num_elements, size_t num_sets) {
  std::vector<CaseNode> nodes;
  for (size_t set = 0; set < num_sets; ++set) {
    nodes.push_back({set, static_cast<double>(4 + rng.Below(3)), {}});
    nodes.push_back({set, static_cast<double>(1 + rng.Below(3)), {rng.Below(num_sets)}});
  }
  CaseNode root = {num_sets + num_elements, 0, {}};
  for (size_t element = num_sets; element < root.of; ++element) {
    for (uint64_t n = 2 + rng.Below(2); n > 0; --n) {
      nodes.push_back({element, 0, {rng.Below(num_sets)}});
    }
    root.children.push_back(element);
  }
  nodes.push_back(root);
  return ExtractionCase(root.of + 1, nodes, {root.of});
}

TEST(IlpExtractor, BranchesWhereItMust) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = Covering(rng, 6, 6);
    const double optimum = ExhaustiveOptimum(example.problem())->dag_cost;
    const Instance instance = *MakeInstance(example.problem());
    const BranchAndCutResult result = BranchAndCut(instance, 2 * optimum, {});
    EXPECT_NEAR(result.cost, optimum, 1e-9);
    EXPECT_NEAR(result.lower_bound, optimum, 1e-6 * optimum);
    EXPECT_LE(result.lower_bound, optimum);
  }
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Selection selection = Extract(Covering(rng, 40, 30));
    EXPECT_NEAR(selection.lower_bound, selection.cost, 1e-6 * selection.cost);
  }
}

TEST(IlpExtractor, ProvesTheOptimumOfMediumCases) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const ExtractionCase example = Layered(seed, 60);
    const Selection selection = Extract(example);
    EXPECT_LE(selection.cost, FindExtractor("dag")->Extract(example.problem(), {})->cost);
    EXPECT_NEAR(selection.lower_bound, selection.cost, 1e-6 * selection.cost);
  }
}

TEST(IlpExtractor, CancelledItReturnsWhatItHas) {
  CancelToken token;
  token.Cancel();
  const ExtractionCase example = Layered(1, 2000);
  const Selection selection = Extract(example, StopCondition(&token));
  EXPECT_GT(selection.lower_bound, 0);
}

// Time is up when the clock was read so often. It counts how often it is read from then on.
class ExpiringClock : public Clock {
 public:
  explicit ExpiringClock(int64_t looks) : looks_(looks) {}
  int64_t NowNs() const override { return ++read_ > looks_ ? 1 : 0; }
  int64_t UnixMs() const override { return 0; }
  StopCondition Stop() const { return StopCondition(nullptr, *this, /*deadline_ns=*/1); }
  int64_t late_looks() const { return read_ - looks_; }

 private:
  const int64_t looks_;
  mutable int64_t read_ = 0;
};

// Each part of the search may still find out by itself that time is up, but none goes on.
TEST(IlpExtractor, KeepsItsDeadline) {
  const auto expect_it = [](const ExtractionCase& example, int64_t looks) {
    SCOPED_TRACE(looks);
    const ExpiringClock clock(looks);
    Extract(example, clock.Stop());
    EXPECT_GT(clock.late_looks(), 0);
    EXPECT_LT(clock.late_looks(), 100);
  };
  const ExtractionCase layered = Layered(2, 3000);
  for (const int64_t looks : {0, 100, 10'000}) expect_it(layered, looks);
  Rng rng(3);
  const ExtractionCase covering = Covering(rng, 150, 112);  // Takes branch and cut long.
  for (const int64_t looks : {100, 10'000, 100'000}) expect_it(covering, looks);
}

TEST(IlpExtractor, PrintsNothing) {
  const ExtractionCase example = Layered(3, 100);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Extract(example);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(IlpExtractor, IsDeterministic) {
  const ExtractionCase example = Layered(4, 100);
  const Selection first = Extract(example);
  const Selection second = Extract(example);
  EXPECT_EQ(first.choice, second.choice);
  EXPECT_EQ(first.lower_bound, second.lower_bound);
}

TEST(IlpExtractor, MayBeUsedByManyThreads) {
  const ExtractionCase example = Layered(5, 60);
  const Selection expected = Extract(example);
  std::vector<Selection> selections(4);
  {
    std::vector<std::jthread> threads;
    for (Selection& selection : selections) {
      threads.emplace_back([&] { selection = *IlpExtractor().Extract(example.problem(), {}); });
    }
  }
  for (const Selection& selection : selections) EXPECT_EQ(selection.choice, expected.choice);
}

}  // namespace
}  // namespace quotient::extract
