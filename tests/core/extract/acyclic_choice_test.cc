#include "core/extract/acyclic_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/rng.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

// Whether following the choices from any class comes back to it: by marking, class by class.
bool HasCycle(const Instance& instance, const std::vector<Node>& choice) {
  for (uint32_t start = 0; start < instance.num_classes(); ++start) {
    std::vector<bool> seen(instance.num_classes(), false);
    std::vector<Class> todo = {Class(start)};
    while (!todo.empty()) {
      const Class id = todo.back();
      todo.pop_back();
      for (Class child : instance.children[choice[id.value()].value()]) {
        if (child == Class(start)) return true;
        if (!seen[child.value()]) todo.push_back(child);
        seen[child.value()] = true;
      }
    }
  }
  return false;
}

TEST(AcyclicChoice, RefusesExactlyTheChoicesThatCloseACycle) {
  int refused = 0;
  int taken = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto example = testing::ExtractionCase::Random(rng, 12);
    const absl::StatusOr<Instance> instance = MakeInstance(example.problem());
    if (!instance.ok()) continue;
    std::vector<Node> expected = MinimizeTreeCost(*instance).choice;
    const std::vector<uint32_t> components = StrongComponents(*instance);
    AcyclicChoice choice(*instance, components, expected);
    for (int i = 0; i < 60; ++i) {
      const Node node(static_cast<uint32_t>(rng.Below(instance->num_nodes())));
      std::vector<Node> changed = expected;
      changed[instance->class_of[node.value()].value()] = node;
      const bool allowed = !HasCycle(*instance, changed);
      ASSERT_EQ(choice.Choose(node), allowed);
      if (allowed) expected = changed;
      ASSERT_EQ(choice.all(), expected);
      ++(allowed ? taken : refused);
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace quotient::extract
