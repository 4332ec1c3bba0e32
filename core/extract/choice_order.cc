#include "core/extract/choice_order.h"

#include <algorithm>
#include <utility>

namespace quotient::extract {

ChoiceOrder::ChoiceOrder(const Instance& instance, std::vector<Node> choice)
    : instance_(instance),
      choice_(std::move(choice)),
      rank_(instance.num_classes()),
      seen_(instance.num_classes(), false) {
  // Classes whose choice has no unranked child, lowest rank first.
  std::vector<uint32_t> missing(instance.num_classes());
  std::vector<Class> ready;
  for (uint32_t i = 0; i < instance.num_classes(); ++i) {
    missing[i] = static_cast<uint32_t>(instance.children[choice_[i].value()].size());
    if (missing[i] == 0) ready.push_back(Class(i));
  }
  for (uint32_t rank = 0; rank < ready.size(); ++rank) {
    const Class id = ready[rank];
    rank_[id.value()] = rank;
    for (Node parent : instance.parents[id.value()]) {
      const Class parent_class = instance.class_of[parent.value()];
      if (choice_[parent_class.value()] == parent && --missing[parent_class.value()] == 0) {
        ready.push_back(parent_class);
      }
    }
  }
}

bool ChoiceOrder::Choose(Node node) {
  const Class id = instance_.class_of[node.value()];
  const Node old = std::exchange(choice_[id.value()], node);
  for (Class child : instance_.children[node.value()]) {
    if (Order(id, child)) continue;
    // Ordering the children before this one has moved `id` and what is above it up, and what is
    // below those children down: the old choice is in order still.
    choice_[id.value()] = old;
    return false;
  }
  return true;
}

bool ChoiceOrder::Order(Class parent, Class child) {
  if (parent == child) return false;
  const uint32_t low = rank_[parent.value()];
  const uint32_t high = rank_[child.value()];
  if (high < low) return true;
  below_.clear();
  above_.clear();
  const bool acyclic = CollectBelow(child, parent);
  if (acyclic) CollectAbove(parent, high);
  for (Class id : below_) seen_[id.value()] = false;
  for (Class id : above_) seen_[id.value()] = false;
  if (acyclic) Reassign();
  return acyclic;
}

// What `child` reaches and ranks above `parent`; false if it reaches `parent` itself.
bool ChoiceOrder::CollectBelow(Class child, Class parent) {
  below_.push_back(child);
  seen_[child.value()] = true;
  for (size_t i = 0; i < below_.size(); ++i) {
    for (Class next : instance_.children[choice_[below_[i].value()].value()]) {
      if (next == parent) return false;
      if (seen_[next.value()] || rank_[next.value()] < rank_[parent.value()]) continue;
      seen_[next.value()] = true;
      below_.push_back(next);
    }
  }
  return true;
}

// What reaches `parent` and ranks below `limit`.
void ChoiceOrder::CollectAbove(Class parent, uint32_t limit) {
  above_.push_back(parent);
  seen_[parent.value()] = true;
  for (size_t i = 0; i < above_.size(); ++i) {
    for (Node node : instance_.parents[above_[i].value()]) {
      const Class next = instance_.class_of[node.value()];
      if (choice_[next.value()] != node || seen_[next.value()] || rank_[next.value()] > limit) {
        continue;
      }
      seen_[next.value()] = true;
      above_.push_back(next);
    }
  }
}

// Deals the ranks of both sets out again: all of below_ first, each in its old order.
void ChoiceOrder::Reassign() {
  const auto by_rank = [this](Class a, Class b) { return rank_[a.value()] < rank_[b.value()]; };
  std::ranges::sort(below_, by_rank);
  std::ranges::sort(above_, by_rank);
  below_.insert(below_.end(), above_.begin(), above_.end());
  ranks_.clear();
  for (Class id : below_) ranks_.push_back(rank_[id.value()]);
  std::ranges::sort(ranks_);
  for (size_t i = 0; i < below_.size(); ++i) rank_[below_[i].value()] = ranks_[i];
}

}  // namespace quotient::extract
