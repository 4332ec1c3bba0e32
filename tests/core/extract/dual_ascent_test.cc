#include "core/extract/dual_ascent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/support_costs.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExhaustiveOptimum;
using ::quotient::testing::ExtractionCase;
using ::quotient::testing::Optimum;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Visit>
void ForRandomInstances(size_t count, const Visit& visit) {
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 9);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (instance.ok()) visit(rng, *instance, *ExhaustiveOptimum(example.problem()));
  }
}

// Until nothing changes, from infinity downwards.
std::vector<double> NaiveSupportCosts(const Instance& instance, const std::vector<double>& cost) {
  std::vector<double> value(instance.num_classes(), kInfinity);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
      double dearest = 0;
      for (const Class child : instance.children[i]) {
        dearest = std::max(dearest, value[child.value()]);
      }
      double& of = value[instance.class_of[i].value()];
      if (dearest + cost[i] >= of) continue;
      of = dearest + cost[i];
      changed = true;
    }
  }
  return value;
}

TEST(SupportCosts, AreThoseOfDearestPathsWhileCostsFall) {
  ForRandomInstances(500, [](Rng& rng, const Instance& instance, const Optimum&) {
    std::vector<double> cost = instance.cost;
    SupportCosts costs(instance, cost);
    for (int step = 0; step < 5; ++step) {
      const std::vector<double> expected = NaiveSupportCosts(instance, cost);
      for (uint32_t id = 0; id < instance.num_classes(); ++id) {
        ASSERT_EQ(costs.of(Class(id)), expected[id]);
      }
      std::vector<Node> lowered;
      for (int i = 0; i < 3; ++i) {
        lowered.push_back(Node(static_cast<uint32_t>(rng.Below(instance.num_nodes()))));
        cost[lowered.back().value()] /= 2;
      }
      costs.Lower(lowered);
    }
  });
}

TEST(DualAscent, BoundsTheOptimumAndIsOftenTight) {
  int instances = 0;
  int tight = 0;
  ForRandomInstances(2000, [&](Rng&, const Instance& instance, const Optimum& optimum) {
    const DualBound dual = AscendDual(instance, instance.cost, StopCondition());
    ASSERT_LE(dual.bound, optimum.dag_cost + 1e-9);
    ++instances;
    tight += dual.bound > optimum.dag_cost - 1e-9;
    // What was charged was there to be charged.
    std::vector<double> left = instance.cost;
    for (uint32_t i = 0; i < left.size(); ++i) {
      ASSERT_GE(dual.reduced_cost[i], 0);
      ASSERT_LE(dual.reduced_cost[i], left[i]);
    }
  });
  EXPECT_GT(instances, 1000);
  EXPECT_GT(tight, instances * 9 / 10);
}

// Every landmark's e-nodes together are needed: without them there is no selection.
TEST(DualAscent, LandmarksCannotBeAvoided) {
  ForRandomInstances(300, [](Rng&, const Instance& instance, const Optimum&) {
    std::vector<std::vector<Node>> landmarks;
    AscendDual(instance, instance.cost, StopCondition(), &landmarks);
    for (const std::vector<Node>& landmark : landmarks) {
      std::vector<bool> keep(instance.num_nodes(), true);
      for (const Node node : landmark) keep[node.value()] = false;
      EXPECT_FALSE(Restrict(instance, keep).ok());
    }
  });
}

TEST(DualAscent, WhatIsTakenOutIsInNothingCheaper) {
  size_t removed = 0;
  ForRandomInstances(1000, [&](Rng&, const Instance& instance, const Optimum& optimum) {
    const DualBound dual = AscendDual(instance, instance.cost, StopCondition());
    const std::vector<bool> keep = CanBeCheaper(instance, dual, optimum.dag_cost + 0.5);
    removed += std::ranges::count(keep, false);
    const absl::StatusOr<Instance> rest = Restrict(instance, keep);
    ASSERT_TRUE(rest.ok());
    const DualBound again = AscendDual(*rest, rest->cost, StopCondition());
    EXPECT_LE(again.bound, optimum.dag_cost + 1e-9);
    // Nothing is cheaper than the optimum.
    const std::vector<bool> none = CanBeCheaper(instance, dual, dual.bound);
    EXPECT_FALSE(Restrict(instance, none).ok());
  });
  EXPECT_GT(removed, 1000);
}

// Costs that are nothing next to others, and together more than rounding.
TEST(DualAscent, EndsWhateverCostsThereAre) {
  const ExtractionCase example(
      5, {{0, 0, {}}, {1, 0.9e-12, {0}}, {2, 0.9e-12, {1}}, {3, 1, {}}, {4, 0, {2, 3}}}, {4});
  const Instance instance = *MakeInstance(example.problem());
  EXPECT_NEAR(AscendDual(instance, instance.cost, StopCondition()).bound, 1, 1e-9);
}

TEST(DualAscent, IsABoundWhenStopped) {
  CancelToken token;
  token.Cancel();
  ForRandomInstances(50, [&](Rng&, const Instance& instance, const Optimum& optimum) {
    const DualBound dual = AscendDual(instance, instance.cost, StopCondition(&token));
    EXPECT_EQ(dual.bound, 0);
    EXPECT_LE(dual.bound, optimum.dag_cost);
  });
}

}  // namespace
}  // namespace quotient::extract
