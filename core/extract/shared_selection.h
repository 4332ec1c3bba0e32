#pragma once

// A choice for every class together with what it costs where each class is paid for once: the
// classes that the roots need are counted by their users, so that a change of one choice changes
// the cost in time proportional to the part of the graph that comes or goes.

#include <cstdint>
#include <vector>

#include "core/extract/choice_order.h"
#include "core/extract/instance.h"

namespace quotient::extract {

class SharedSelection {
 public:
  // `choice` must be acyclic; it stays so.
  SharedSelection(const Instance& instance, std::vector<Node> choice);

  // Chooses `node` for its class; false, and nothing changed, if that would close a cycle.
  bool Choose(Node node);

  // Undoes all changes since `mark` was taken.
  size_t Mark() const { return journal_.size(); }
  void UndoTo(size_t mark);
  // Forgets how to undo.
  void Commit() { journal_.clear(); }

  Node choice(Class id) const { return order_.choice(id); }
  const std::vector<Node>& choices() const { return order_.choices(); }
  // How many live choices, and roots, use the class; live are those with at least one use.
  uint32_t uses(Class id) const { return uses_[id.value()]; }
  bool live(Class id) const { return uses_[id.value()] > 0; }

  double cost() const { return cost_; }
  int64_t num_live() const { return num_live_; }
  // Live choices that a rule made.
  int64_t num_rewritten() const { return num_rewritten_; }
  // Sums the cost anew: additions and subtractions leave rounding behind.
  void RecomputeCost();

 private:
  void Switch(Class id, Node old_node, Node node);
  void Use(Class id);
  void Drop(Class id);

  const Instance& instance_;
  ChoiceOrder order_;
  std::vector<uint32_t> uses_;
  double cost_ = 0;
  int64_t num_live_ = 0;
  int64_t num_rewritten_ = 0;
  std::vector<Node> journal_;  // choices replaced, oldest first
  std::vector<Class> stack_;
};

}  // namespace quotient::extract
