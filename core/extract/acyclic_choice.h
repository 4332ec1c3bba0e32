#pragma once

// One e-node for every class such that following them never comes back to where it began. A change
// can close a cycle within a strongly connected component of the classes only, so only there it is
// looked for, from the e-node's children along the choices: nothing to do in acyclic e-graphs, and
// less than keeping a topological order (Pearce and Kelly's algorithm took most of the time of
// local search).

#include <cstdint>
#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

class AcyclicChoice {
 public:
  // `choice` must be acyclic. Borrows `instance` and `components` (see components.h).
  AcyclicChoice(const Instance& instance, std::span<const uint32_t> components,
                std::vector<Node> choice);

  Node of(Class id) const { return choice_[id.value()]; }
  const std::vector<Node>& all() const { return choice_; }

  // Chooses `node` for its class; false, and nothing changed, if that would close a cycle.
  bool Choose(Node node);
  // The same for one that is known to close none, as the one before the last change.
  void Restore(Node node) { choice_[instance_.class_of[node.value()].value()] = node; }

 private:
  bool Reaches(Node node, Class target);

  const Instance& instance_;
  const std::span<const uint32_t> components_;
  std::vector<Node> choice_;
  // Of one call of Reaches.
  std::vector<uint32_t> seen_in_;  // by Class: the walk that was there last
  uint32_t walk_ = 0;
  std::vector<Class> stack_;
};

}  // namespace quotient::extract
