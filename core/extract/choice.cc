#include "core/extract/choice.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/extract/bottom_up.h"
#include "core/extract/dual_ascent.h"
#include "core/extract/shared_selection.h"

namespace quotient::extract {

Choice Scored(const Instance& instance, std::vector<Node> nodes) {
  const SharedSelection selection(instance, {}, nodes);
  // The cost is the exact sum, not that of the rounded costs used for searching.
  double cost = 0;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (selection.live(Class(i))) cost += instance.cost[nodes[i].value()];
  }
  return {std::move(nodes), cost, selection.score().num_recomputed};
}

bool IsAsGood(const Choice& a, const Choice& b) {
  if (a.num_recomputed > 0) return false;
  return b.num_recomputed > 0 || a.cost <= b.cost * (1 + kRelativeTolerance);
}

Choice ChooseTree(const Instance& instance) {
  Choice tree = Scored(instance, MinimizeTreeCost(instance).choice);
  if (tree.num_recomputed == 0) return tree;
  const absl::StatusOr<Instance> plain = WithoutFusions(instance);
  if (!plain.ok()) return tree;
  WriteChoice(*plain, MinimizeTreeCost(*plain).choice, instance, tree.nodes);
  return Scored(instance, std::move(tree.nodes));
}

Instance RestrictToCost(const Instance& instance, double cost) {
  constexpr double kSlack = 1e-9;
  const double limit = std::nextafter(cost * (1 + kSlack), std::numeric_limits<double>::max());
  return *Restrict(instance,
                   CanBeCheaper(instance, {.bound = 0, .reduced_cost = instance.cost}, limit));
}

void WriteChoice(const Instance& part, std::span<const Node> choice, const Instance& whole,
                 std::vector<Node>& whole_choice) {
  for (const Node node : choice) {
    const Node origin = part.origin[node.value()];
    if (origin.valid()) whole_choice[whole.class_of[origin.value()].value()] = origin;
  }
}

std::vector<Node> ReadChoice(const Instance& part, const Instance& whole,
                             std::span<const Node> whole_choice) {
  std::vector<Node> choice(part.num_classes());
  for (uint32_t i = 0; i < part.num_classes(); ++i) choice[i] = part.nodes[i][0];
  for (uint32_t i = 0; i < part.num_nodes(); ++i) {
    const Node origin = part.origin[i];
    if (!origin.valid() || whole_choice[whole.class_of[origin.value()].value()] != origin) continue;
    choice[part.class_of[i].value()] = Node(i);
  }
  return choice;
}

std::vector<Node> ReadNeeded(const Instance& part, const Instance& whole,
                             std::span<const Node> whole_choice, std::vector<Node> other) {
  const std::vector<Node> known = ReadChoice(part, whole, whole_choice);
  std::vector<Class> needed = part.roots;
  std::vector<bool> seen(part.num_classes(), false);
  for (const Class root : needed) seen[root.value()] = true;
  for (size_t i = 0; i < needed.size(); ++i) {
    const Node node = known[needed[i].value()];
    other[needed[i].value()] = node;
    for (const Class child : part.children[node.value()]) {
      if (!seen[child.value()]) needed.push_back(child);
      seen[child.value()] = true;
    }
  }
  return other;
}

}  // namespace quotient::extract
