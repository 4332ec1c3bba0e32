#include "core/extract/acyclic_choice.h"

#include <algorithm>
#include <limits>
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
  if (!ordered_ && walked_ > instance_.num_classes()) Order();
  const bool fits = ordered_ && IsOrdered(node);
  if (!fits && Reaches(node, id)) return false;
  ordered_ = fits;
  choice_[id.value()] = node;
  return true;
}

void AcyclicChoice::Restore(Node node) {
  ordered_ = ordered_ && IsOrdered(node);
  choice_[instance_.class_of[node.value()].value()] = node;
}

bool AcyclicChoice::IsOrdered(Node node) const {
  const Class id = instance_.class_of[node.value()];
  return std::ranges::all_of(instance_.children[node.value()], [&](Class child) {
    return components_[child.value()] != components_[id.value()] ||
           rank_[child.value()] < rank_[id.value()];
  });
}

// Depth-first along the choices, so that children get their ranks before their users.
void AcyclicChoice::Order() {
  constexpr uint32_t kNotYet = std::numeric_limits<uint32_t>::max();
  rank_.assign(choice_.size(), kNotYet);
  uint32_t next_rank = 0;
  ++walk_;
  for (uint32_t i = 0; i < choice_.size(); ++i) {
    stack_.assign(1, Class(i));
    while (!stack_.empty()) {
      const Class id = stack_.back();
      if (seen_in_[id.value()] == walk_) {  // All of its children have ranks.
        stack_.pop_back();
        if (rank_[id.value()] == kNotYet) rank_[id.value()] = next_rank++;
        continue;
      }
      seen_in_[id.value()] = walk_;
      for (const Class child : instance_.children[choice_[id.value()].value()]) {
        if (seen_in_[child.value()] != walk_) stack_.push_back(child);
      }
    }
  }
  ordered_ = true;
  walked_ = 0;
}

// Whether the walk below `node` reaches `target`, the class of `node`. Classes ordered before
// `target` are skipped.
bool AcyclicChoice::Reaches(Node node, Class target) {
  const uint32_t component = components_[target.value()];
  ++walk_;
  stack_.clear();
  const auto expand = [&](Node from) {
    for (const Class child : instance_.children[from.value()]) {
      if (components_[child.value()] != component || seen_in_[child.value()] == walk_) continue;
      if (ordered_ && rank_[child.value()] < rank_[target.value()]) continue;
      seen_in_[child.value()] = walk_;
      stack_.push_back(child);
    }
  };
  expand(node);
  while (!stack_.empty()) {
    const Class id = stack_.back();
    stack_.pop_back();
    if (id == target) return true;
    ++walked_;
    ++steps_;
    expand(choice_[id.value()]);
  }
  return false;
}

}  // namespace quotient::extract
