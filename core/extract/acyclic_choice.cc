#include "core/extract/acyclic_choice.h"

#include <utility>

namespace quotient::extract {

AcyclicChoice::AcyclicChoice(const Instance& instance, std::span<const uint32_t> components,
                             std::vector<Node> choice)
    : instance_(instance),
      components_(components),
      choice_(std::move(choice)),
      seen_in_(instance.num_classes(), 0) {}

bool AcyclicChoice::Choose(Node node) {
  const Class id = instance_.class_of[node.value()];
  if (Reaches(node, id)) return false;
  choice_[id.value()] = node;
  return true;
}

// Whether `target`, the class of `node`, is met below it.
bool AcyclicChoice::Reaches(Node node, Class target) {
  const uint32_t component = components_[target.value()];
  ++walk_;
  stack_.clear();
  const auto expand = [&](Node from) {
    for (const Class child : instance_.children[from.value()]) {
      if (components_[child.value()] != component || seen_in_[child.value()] == walk_) continue;
      seen_in_[child.value()] = walk_;
      stack_.push_back(child);
    }
  };
  expand(node);
  while (!stack_.empty()) {
    const Class id = stack_.back();
    stack_.pop_back();
    if (id == target) return true;
    expand(choice_[id.value()]);
  }
  return false;
}

}  // namespace quotient::extract
