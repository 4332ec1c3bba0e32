#include "core/extract/shared_selection.h"

#include <utility>

namespace quotient::extract {

SharedSelection::SharedSelection(const Instance& instance, std::vector<Node> choice)
    : instance_(instance), order_(instance, std::move(choice)), uses_(instance.num_classes(), 0) {
  for (Class root : instance.roots) Use(root);
}

bool SharedSelection::Choose(Node node) {
  const Class id = instance_.class_of[node.value()];
  const Node old = order_.choice(id);
  if (old == node) return true;
  if (!order_.Choose(node)) return false;
  journal_.push_back(old);
  Switch(id, old, node);
  return true;
}

void SharedSelection::UndoTo(size_t mark) {
  while (journal_.size() > mark) {
    const Node old = journal_.back();
    journal_.pop_back();
    const Class id = instance_.class_of[old.value()];
    const Node replaced = order_.choice(id);
    order_.Choose(old);  // cannot fail: the choices are those of before
    Switch(id, replaced, old);
  }
}

void SharedSelection::Switch(Class id, Node old_node, Node node) {
  if (!live(id)) return;
  cost_ += instance_.cost[node.value()] - instance_.cost[old_node.value()];
  num_rewritten_ += instance_.rewritten[node.value()] - instance_.rewritten[old_node.value()];
  // New uses first, so that what both share does not go and come back.
  for (Class child : instance_.children[node.value()]) Use(child);
  for (Class child : instance_.children[old_node.value()]) Drop(child);
}

void SharedSelection::Use(Class id) {
  stack_.assign(1, id);
  while (!stack_.empty()) {
    const Class next = stack_.back();
    stack_.pop_back();
    if (uses_[next.value()]++ > 0) continue;
    const Node node = order_.choice(next);
    ++num_live_;
    cost_ += instance_.cost[node.value()];
    num_rewritten_ += instance_.rewritten[node.value()];
    for (Class child : instance_.children[node.value()]) stack_.push_back(child);
  }
}

void SharedSelection::Drop(Class id) {
  stack_.assign(1, id);
  while (!stack_.empty()) {
    const Class next = stack_.back();
    stack_.pop_back();
    if (--uses_[next.value()] > 0) continue;
    const Node node = order_.choice(next);
    --num_live_;
    cost_ -= instance_.cost[node.value()];
    num_rewritten_ -= instance_.rewritten[node.value()];
    for (Class child : instance_.children[node.value()]) stack_.push_back(child);
  }
}

void SharedSelection::RecomputeCost() {
  cost_ = 0;
  for (uint32_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i] > 0) cost_ += instance_.cost[order_.choice(Class(i)).value()];
  }
}

}  // namespace quotient::extract
