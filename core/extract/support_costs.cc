#include "core/extract/support_costs.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace quotient::extract {

SupportCosts::SupportCosts(const Instance& instance, std::span<const double> cost)
    : instance_(instance),
      cost_(cost),
      value_(instance.num_classes(), std::numeric_limits<double>::infinity()),
      support_(instance.num_nodes()) {
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    support_[i] = Dearest(Node(i));
    if (!support_[i].valid()) Offer(Node(i));
  }
  Settle();
}

void SupportCosts::Lower(std::span<const Node> nodes) {
  for (const Node node : nodes) {
    // The present one may have just become cheaper.
    support_[node.value()] = Dearest(node);
    Offer(node);
  }
  Settle();
}

Class SupportCosts::Dearest(Node node) const {
  Class dearest;
  for (const Class child : instance_.children[node.value()]) {
    if (!dearest.valid() || of(child) > of(dearest)) dearest = child;
  }
  return dearest;
}

void SupportCosts::Offer(Node node) {
  const Class id = instance_.class_of[node.value()];
  const double value = below(node) + cost_[node.value()];
  if (!(value < value_[id.value()])) return;
  value_[id.value()] = value;
  heap_.push_back({value, id});
  std::ranges::push_heap(heap_, std::greater<>());
}

// Label-correcting: an e-node is looked at again whenever its dearest child has become cheaper.
void SupportCosts::Settle() {
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater<>());
    const Label label = heap_.back();
    heap_.pop_back();
    if (label.value > of(label.id)) continue;
    for (const Node parent : instance_.parents[label.id.value()]) {
      if (support(parent) != label.id) continue;
      support_[parent.value()] = Dearest(parent);
      Offer(parent);
    }
  }
}

}  // namespace quotient::extract
