#include "core/extract/lower_bound.h"

#include <algorithm>
#include <limits>

#include "core/extract/bottom_up.h"

namespace quotient::extract {
namespace {

// Children that all e-nodes of the class have.
std::vector<Class> CommonChildren(const Instance& instance, Class id) {
  const std::span<const Node> nodes = instance.nodes[id.value()];
  const std::span<const Class> first = instance.children[nodes[0].value()];
  std::vector<Class> common(first.begin(), first.end());
  for (Node node : nodes.subspan(1)) {
    const std::span<const Class> children = instance.children[node.value()];
    std::erase_if(common, [children](Class child) {
      return std::ranges::find(children, child) == children.end();
    });
  }
  return common;
}

double CostOfForcedClasses(const Instance& instance) {
  double sum = 0;
  for (Class id : ForcedClasses(instance)) {
    double cheapest = std::numeric_limits<double>::infinity();
    for (Node node : instance.nodes[id.value()]) {
      cheapest = std::min(cheapest, instance.cost[node.value()]);
    }
    sum += cheapest;
  }
  return sum;
}

}  // namespace

std::vector<Class> ForcedClasses(const Instance& instance) {
  std::vector<Class> forced = instance.roots;
  std::vector<bool> seen(instance.num_classes(), false);
  for (Class root : forced) seen[root.value()] = true;
  for (size_t i = 0; i < forced.size(); ++i) {
    for (Class child : CommonChildren(instance, forced[i])) {
      if (!seen[child.value()]) forced.push_back(child);
      seen[child.value()] = true;
    }
  }
  return forced;
}

double LowerBound(const Instance& instance) {
  double bound = CostOfForcedClasses(instance);
  const BottomUpResult paths = MinimizePathCost(instance);
  for (Class root : instance.roots) bound = std::max(bound, paths.value[root.value()]);
  return bound;
}

}  // namespace quotient::extract
