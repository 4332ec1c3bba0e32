#pragma once

// AcyclicChoice: one e-node for every class, such that following the choices never closes a cycle.
// A change can close a cycle only within a strongly connected component of the classes, so a walk
// from the new e-node's children along the choices stays in the component; acyclic e-graphs need no
// walk. Most changes agree with a topological order of the choices that was computed once, which
// shows that they close no cycle. A change that does not agree invalidates the order. It is
// computed anew when walks without it have taken as long as that takes. (Maintaining the order with
// Pearce and Kelly's algorithm took most of the time of local search.)

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

  // Chooses `node` for its class. False if that would close a cycle; nothing is changed then.
  bool Choose(Node node);
  // Chooses a node that is known to close no cycle, such as the one before the last change.
  void Restore(Node node);

  // Number of classes visited so far in search of cycles.
  int64_t steps() const { return steps_; }

 private:
  bool Reaches(Node node, Class target);
  bool IsOrdered(Node node) const;
  void Order();

  const Instance& instance_;
  const std::span<const uint32_t> components_;
  std::vector<Node> choice_;
  // By Class: greater than the ranks of the children that the class chose.
  std::vector<uint32_t> rank_;
  bool ordered_ = false;  // Whether all ranks are valid.
  size_t walked_ = 0;     // Number of classes visited since they became invalid.
  int64_t steps_ = 0;

  // --- Scratch of Reaches
  std::vector<uint32_t> seen_in_;  // By Class: the last walk that visited it.
  uint32_t walk_ = 0;
  std::vector<Class> stack_;
};

}  // namespace quotient::extract
