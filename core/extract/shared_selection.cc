#include "core/extract/shared_selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quotient::extract {

std::vector<double> ExactlyAdded(const Instance& instance) {
  double sum_of_dearest = 0;
  for (uint32_t i = 0; i < instance.num_classes(); ++i) {
    double dearest = 0;
    for (const Node node : instance.nodes[i]) {
      dearest = std::max(dearest, instance.cost[node.value()]);
    }
    sum_of_dearest += dearest;
  }
  std::vector<double> cost = instance.cost;
  // Doubles between this and its double are multiples of 2^-52 of it, so adding it rounds to such a
  // multiple.
  const double rounder = std::exp2(std::ceil(std::log2(sum_of_dearest)) + 1);
  if (!std::isnormal(rounder)) return cost;  // All costs are zero, or the sum overflows.
  for (double& each : cost) each = (each + rounder) - rounder;
  return cost;
}

SharedSelection::SharedSelection(const Instance& instance, std::span<const uint32_t> components,
                                 std::vector<Node> choice)
    : instance_(instance),
      choice_(instance, components, std::move(choice)),
      uses_(instance.num_classes(), 0),
      computed_(instance.num_computed, 0),
      seen_in_(instance.num_classes(), 0) {
  const std::vector<double> cost = ExactlyAdded(instance);
  parts_.reserve(cost.size());
  for (uint32_t i = 0; i < cost.size(); ++i) {
    const uint32_t computation =
        instance.computes.empty() ? Instance::kComputesAlone : instance.computes[i];
    parts_.push_back({cost[i], computation, instance.rewritten[i], instance.children[i]});
  }
  for (Class root : instance.roots) Use(root);
}

bool SharedSelection::Choose(Node node) {
  const Class id = instance_.class_of[node.value()];
  const Node old = choice(id);
  if (old == node) return true;
  if (!choice_.Choose(node)) return false;
  journal_.push_back(old);
  Switch(id, old, node);
  return true;
}

void SharedSelection::UndoTo(size_t mark) {
  while (journal_.size() > mark) {
    const Node old = journal_.back();
    journal_.pop_back();
    const Class id = instance_.class_of[old.value()];
    const Node replaced = choice(id);
    choice_.Restore(old);
    Switch(id, replaced, old);
  }
}

void SharedSelection::CountComputation(uint32_t computation, int sign) {
  uint32_t& count = computed_[computation];
  if (sign < 0) --count;
  if (count > 0) score_.num_recomputed += sign;
  if (sign > 0) ++count;
}

void SharedSelection::Switch(Class id, Node old_node, Node node) {
  if (!live(id)) return;
  Pay(node, 1);
  Pay(old_node, -1);
  // New uses are counted first, so that what both e-nodes use is not dropped and added again.
  for (Class child : parts_[node.value()].children) Use(child);
  for (Class child : parts_[old_node.value()].children) Drop(child);
}

// Pays for a class that has become live, and uses its children.
void SharedSelection::UseBelow(Class id) {
  stack_.assign(1, id);
  while (!stack_.empty()) {
    const Node node = choice(stack_.back());
    stack_.pop_back();
    ++score_.num_live;
    Pay(node, 1);
    for (const Class child : parts_[node.value()].children) {
      ++steps_;
      if (uses_[child.value()]++ == 0) stack_.push_back(child);
    }
  }
}

// The inverse, for a class that is no longer live.
void SharedSelection::DropBelow(Class id) {
  stack_.assign(1, id);
  while (!stack_.empty()) {
    const Node node = choice(stack_.back());
    stack_.pop_back();
    --score_.num_live;
    Pay(node, -1);
    for (const Class child : parts_[node.value()].children) {
      ++steps_;
      if (--uses_[child.value()] == 0) stack_.push_back(child);
    }
  }
}

std::vector<double> SharedSelection::Shares() const {
  std::vector<double> shares(uses_.size(), 0);
  std::vector<Class> order = instance_.roots;  // Users before what they use.
  std::vector<uint32_t> waiting = uses_;
  for (const Class root : order) --waiting[root.value()];
  std::erase_if(order, [&](Class root) { return waiting[root.value()] > 0; });
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Class child : parts_[choice(order[i]).value()].children) {
      if (--waiting[child.value()] == 0) order.push_back(child);
    }
  }
  for (size_t i = order.size(); i-- > 0;) {
    const Node node = choice(order[i]);
    double& share = shares[order[i].value()];
    share = parts_[node.value()].cost;
    for (const Class child : parts_[node.value()].children) {
      share += shares[child.value()] / uses(child);
    }
  }
  return shares;
}

}  // namespace quotient::extract
