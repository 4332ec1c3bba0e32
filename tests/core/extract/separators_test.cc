// The rows that separators find are satisfied by every selection and violated by the point that
// they were found for. Points are solutions of the relaxation without such rows, and selections are
// all those of small instances.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/flow_separator.h"
#include "core/extract/loop_separator.h"
#include "core/extract/requirements.h"
#include "core/extract/use_separator.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using testing::ExtractionCase;

// Values by Node and by Class.
struct Point {
  explicit Point(const Instance& instance)
      : nodes(instance.num_nodes(), 0), classes(instance.num_classes(), 0) {}

  std::vector<double> nodes;
  std::vector<double> classes;
};

// How far the point is from satisfying the row.
double Violation(const LoopInequality& row, const Point& point) {
  double exits = 0;
  for (const Node node : row.exits) exits += point.nodes[node.value()];
  return point.classes[row.needed.value()] - exits;
}
double Violation(const UseInequality& row, const Point& point) {
  double users = 0;
  for (const Node node : row.users) users += point.nodes[node.value()];
  return users - point.classes[row.needed.value()];
}

// All three, behind one interface.
class Separators {
 public:
  explicit Separators(const Instance& instance)
      : requirements_(*Requirements::Compute(instance, {})),
        loops_(instance),
        flows_(instance),
        uses_(instance, requirements_) {}

  // Calls visit(row) for each row found.
  template <typename Visit>
  void ForEachRow(const Point& point, const Visit& visit) {
    for (const LoopInequality& row : loops_.Separate(point.nodes, point.classes, {})) visit(row);
    for (const LoopInequality& row : flows_.Separate(point.nodes, point.classes, {})) visit(row);
    for (const UseInequality& row : uses_.Separate(point.nodes, point.classes)) visit(row);
  }
  bool FindAny(const Point& point) {
    bool any = false;
    ForEachRow(point, [&any](const auto&) { any = true; });
    return any;
  }
  LoopSeparator& loops() { return loops_; }

 private:
  Requirements requirements_;
  LoopSeparator loops_;
  FlowSeparator flows_;
  UseSeparator uses_;
};

// What the roots need if each class chooses the given node. Whether that is acyclic is said apart.
Point NeededBy(const Instance& instance, std::span<const Node> choice, bool* acyclic) {
  Point point(instance);
  std::vector<bool> open(instance.num_classes());
  *acyclic = true;
  const std::function<void(Class)> need = [&](Class id) {
    if (open[id.value()]) *acyclic = false;
    if (point.classes[id.value()] > 0) return;
    const Node node = choice[id.value()];
    point.classes[id.value()] = point.nodes[node.value()] = 1;
    open[id.value()] = true;
    for (const Class child : instance.children[node.value()]) need(child);
    open[id.value()] = false;
  };
  for (const Class root : instance.roots) need(root);
  return point;
}

// Calls visit(point, acyclic) for each way to choose a node for every class.
template <typename Visit>
void ForEachChoice(const Instance& instance, const Visit& visit) {
  std::vector<Node> choice(instance.num_classes());
  const std::function<void(uint32_t)> choose = [&](uint32_t id) {
    if (id < instance.num_classes()) {
      for (const Node node : instance.nodes[id]) {
        choice[id] = node;
        choose(id + 1);
      }
      return;
    }
    bool acyclic;
    const Point point = NeededBy(instance, choice, &acyclic);
    visit(point, acyclic);
  };
  choose(0);
}

// A solution of the relaxation: classes split what they are needed for among their nodes in random
// proportions, and are needed as much as the class that uses them most.
Point RandomSolution(const Instance& instance, Rng& rng) {
  std::vector<double> share(instance.num_nodes());
  for (uint32_t id = 0; id < instance.num_classes(); ++id) {
    double sum = 0;
    for (const Node node : instance.nodes[id]) {
      sum += share[node.value()] = 0.05 + static_cast<double>(rng.Below(3));
    }
    for (const Node node : instance.nodes[id]) share[node.value()] /= sum;
  }
  Point point(instance);
  for (const Class root : instance.roots) point.classes[root.value()] = 1;
  for (int round = 0; round < 100; ++round) {
    std::vector<double> needed(instance.num_classes(), 0);
    for (uint32_t id = 0; id < instance.num_classes(); ++id) {
      std::vector<double> use(instance.num_classes(), 0);
      for (const Node node : instance.nodes[id]) {
        point.nodes[node.value()] = point.classes[id] * share[node.value()];
        for (const Class child : instance.children[node.value()]) {
          use[child.value()] += point.nodes[node.value()];
        }
      }
      for (size_t i = 0; i < use.size(); ++i) needed[i] = std::max(needed[i], use[i]);
    }
    for (size_t i = 0; i < needed.size(); ++i) {
      point.classes[i] = std::max(point.classes[i], needed[i]);
    }
  }
  return point;
}

// Calls test(instance, rng) for random instances with cycles.
template <typename Test>
void ForRandomInstances(const Test& test) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const ExtractionCase example = ExtractionCase::Random(rng, 7);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (instance.ok()) test(*instance, rng);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Separators, RowsAreViolatedByThePointAndSatisfiedByAllSelections) {
  int rows = 0;
  ForRandomInstances([&rows](const Instance& instance, Rng& rng) {
    Separators separators(instance);
    for (int i = 0; i < 3; ++i) {
      const Point point = RandomSolution(instance, rng);
      separators.ForEachRow(point, [&](const auto& row) {
        ++rows;
        EXPECT_GT(Violation(row, point), 1e-4);
        ForEachChoice(instance, [&row](const Point& selection, bool acyclic) {
          if (!acyclic) return;
          ASSERT_LE(Violation(row, selection), 0);
        });
      });
    }
  });
  EXPECT_GT(rows, 300);
}

TEST(Separators, FindNothingAtSelectionsAndBetweenThem) {
  int points = 0;
  ForRandomInstances([&points](const Instance& instance, Rng& rng) {
    Separators separators(instance);
    Point mean(instance);
    double weight = 0;
    ForEachChoice(instance, [&](const Point& selection, bool acyclic) {
      if (!acyclic || rng.Below(5) > 0) return;
      ++points;
      EXPECT_FALSE(separators.FindAny(selection));
      const double more = static_cast<double>(1 + rng.Below(9));
      weight += more;
      for (size_t i = 0; i < mean.nodes.size(); ++i) mean.nodes[i] += more * selection.nodes[i];
      for (size_t i = 0; i < mean.classes.size(); ++i) {
        mean.classes[i] += more * selection.classes[i];
      }
    });
    if (weight == 0) return;
    for (double& value : mean.nodes) value /= weight;
    for (double& value : mean.classes) value /= weight;
    EXPECT_FALSE(separators.FindAny(mean));
  });
  EXPECT_GT(points, 300);
}

// The rows that make the integer program right: without them it would choose cycles.
TEST(LoopSeparator, NoIntegralSolutionWithACyclePasses) {
  int cyclic = 0;
  ForRandomInstances([&cyclic](const Instance& instance, Rng&) {
    LoopSeparator loops(instance);
    ForEachChoice(instance, [&](const Point& point, bool acyclic) {
      if (acyclic) return;
      ++cyclic;
      EXPECT_FALSE(loops.Separate(point.nodes, point.classes, {}).empty());
    });
  });
  EXPECT_GT(cyclic, 1'000);
}

// Two classes that use each other, each with a way out.
TEST(LoopSeparator, ACycleNeedsAnExit) {
  const ExtractionCase example(2, {{0, 1, {1}}, {0, 9, {}}, {1, 1, {0}}, {1, 9, {}}}, {0});
  const Instance instance = *MakeInstance(example.problem());
  LoopSeparator loops(instance);
  Point point(instance);
  point.classes = {1, 1};
  std::vector<Node> exits;
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    point.nodes[i] = instance.cost[i] == 1 ? 1 : 0;
    if (instance.cost[i] == 9) exits.push_back(Node(i));
  }
  std::vector<LoopInequality> rows = loops.Separate(point.nodes, point.classes, {});
  ASSERT_EQ(rows.size(), 1u);
  std::ranges::sort(rows[0].exits);
  EXPECT_EQ(rows[0].exits, exits);
}

// A root with two alternatives, one half each. Each needs a class of its own, and both of these
// need the same one, which the program for children needs by one half only.
struct Halves {
  static constexpr uint32_t kRoot = 0, kLeft = 1, kRight = 2, kBoth = 3;

  Halves()
      : example(4,
                {{kRoot, 1, {kLeft}},
                 {kRoot, 1, {kRight}},
                 {kLeft, 0, {kBoth}},
                 {kRight, 0, {kBoth}},
                 {kBoth, 8, {}}},
                {kRoot}),
        instance(*MakeInstance(example.problem())),
        point(instance) {
    for (uint32_t i = 0; i < instance.num_classes(); ++i) {
      if (instance.class_id[i] == example.id(kBoth)) both = Class(i);
      const bool is_root = instance.class_id[i] == example.id(kRoot);
      point.classes[i] = is_root ? 1 : 0.5;
      for (const Node node : instance.nodes[i]) point.nodes[node.value()] = 0.5;
    }
  }

  ExtractionCase example;
  Instance instance;
  Point point;
  Class both;
};

TEST(UseSeparator, WhatBothHalvesRequireIsNeededAsAWhole) {
  const Halves halves;
  const Requirements requirements = *Requirements::Compute(halves.instance, {});
  UseSeparator uses(halves.instance, requirements);
  const auto rows = uses.Separate(halves.point.nodes, halves.point.classes);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].needed, halves.both);
  EXPECT_EQ(rows[0].users.size(), 2u);
}

TEST(FlowSeparator, HalvesOfARootDoNotFlowThroughHalfAClass) {
  const Halves halves;
  FlowSeparator flows(halves.instance);
  const auto rows = flows.Separate(halves.point.nodes, halves.point.classes, {});
  ASSERT_FALSE(rows.empty());
  for (const LoopInequality& row : rows) EXPECT_GT(Violation(row, halves.point), 0.4);
}

}  // namespace
}  // namespace quotient::extract
