#pragma once

// A topological order of the classes under one choice of e-node each, kept while choices change:
// every class ranks above the children of its choice, so a choice that would close a cycle is
// noticed by looking at ranks in between only. Reference: D. J. Pearce, P. H. J. Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs", ACM JEA 11, 2006.

#include <cstdint>
#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

class ChoiceOrder {
 public:
  // `choice` must be acyclic.
  ChoiceOrder(const Instance& instance, std::vector<Node> choice);

  Node choice(Class id) const { return choice_[id.value()]; }
  const std::vector<Node>& choices() const { return choice_; }

  // Chooses `node` for its class; false, and nothing changed, if that would close a cycle.
  bool Choose(Node node);

 private:
  // Ranks `parent` above `child`; false if `parent` can be reached from `child`.
  bool Order(Class parent, Class child);
  bool CollectBelow(Class child, Class parent);
  void CollectAbove(Class parent, uint32_t limit);
  void Reassign();

  const Instance& instance_;
  std::vector<Node> choice_;
  std::vector<uint32_t> rank_;
  // Of one call of Order: classes between the two.
  std::vector<Class> below_;
  std::vector<Class> above_;
  std::vector<uint32_t> ranks_;
  std::vector<bool> seen_;
};

}  // namespace quotient::extract
