#pragma once

// Choices of one node per class, for instances and for parts of them, with their costs.

#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

struct Choice {
  // Indexed by Class; acyclic, also among classes that are not needed.
  std::vector<Node> nodes;
  // Cost of what the roots need, each class counted once.
  double cost;
  // Number of redundant computations (Instance::computes). A choice with any is not a selection,
  // and its cost cannot be compared with others.
  int64_t num_recomputed;
};

Choice Scored(const Instance& instance, std::vector<Node> nodes);

// Whether `a` is a selection and costs no more than `b`, apart from rounding errors.
bool IsAsGood(const Choice& a, const Choice& b);

// The choice of least tree cost. If that choice computes something twice in order to fuse it,
// returns the choice of least tree cost without fusions instead, if there is one. The instance of a
// whole problem always has one.
Choice ChooseTree(const Instance& instance);

// The part without the e-nodes that are too expensive for any selection of at most `cost`. A
// selection with an e-node costs at least as much as the e-node, the cheapest path from it up to a
// root, and the dearest path below it together.
Instance RestrictToCost(const Instance& instance, double cost);

// Writes a choice for a part into a choice for the whole that the part was made from. Classes that
// are not in the part keep their choice.
void WriteChoice(const Instance& part, std::span<const Node> choice, const Instance& whole,
                 std::vector<Node>& whole_choice);

// The inverse, for a part in which each class contains the whole's choice or has only one node.
std::vector<Node> ReadChoice(const Instance& part, const Instance& whole,
                             std::span<const Node> whole_choice);

// The inverse, for a part that contains the choices of all classes that its roots need, but not of
// all others; these keep their choice in `other`, an acyclic choice for the part.
std::vector<Node> ReadNeeded(const Instance& part, const Instance& whole,
                             std::span<const Node> whole_choice, std::vector<Node> other);

}  // namespace quotient::extract
