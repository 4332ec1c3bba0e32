#pragma once

// One e-node for every class such that following them never comes back to where it began. A change
// can close a cycle within a strongly connected component of the classes only, so only there it is
// looked for, from the e-node's children along the choices: nothing to do in acyclic e-graphs. Most
// changes agree with a topological order of the choices made once, which tells that they close no
// cycle. One that does not makes that order useless; it is made anew when walks without it have
// taken as long as that takes. (Keeping it up to date, by Pearce and Kelly's algorithm, took most
// of the time of local search.)

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
  void Restore(Node node);

  // How many classes were looked below so far, to see whether a choice would close a cycle.
  int64_t steps() const { return steps_; }

 private:
  bool Reaches(Node node, Class target);
  bool IsOrdered(Node node) const;
  void Order();

  const Instance& instance_;
  const std::span<const uint32_t> components_;
  std::vector<Node> choice_;
  std::vector<uint32_t> rank_;  // by Class: of what a class chose more than its children's
  bool ordered_ = false;        // are all ranks so?
  size_t walked_ = 0;           // classes met since they are not
  int64_t steps_ = 0;
  // Of one call of Reaches.
  std::vector<uint32_t> seen_in_;  // by Class: the walk that was there last
  uint32_t walk_ = 0;
  std::vector<Class> stack_;
};

}  // namespace quotient::extract
