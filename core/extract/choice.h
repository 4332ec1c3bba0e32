#pragma once

// Choices for whole instances and for parts of them, with what they cost.

#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

struct Choice {
  std::vector<Node> nodes;  // by Class; acyclic, also where nothing is needed
  double cost;              // of what the roots need, each once
  // How often something is computed once too often (Instance::computes). What is no selection for
  // that has no cost that others could be compared with.
  int64_t num_recomputed;
};

Choice Scored(const Instance& instance, std::vector<Node> nodes);

// Is `a` a selection, and no dearer than `b` but for rounding?
bool IsAsGood(const Choice& a, const Choice& b);

// The answer for trees; where that computes something twice to fuse it, the one without fusions, if
// there is one: of the whole of a problem there is.
Choice ChooseTree(const Instance& instance);

// The part without e-nodes that no selection of at most `cost` has: for what they cost themselves,
// or for the dearest path up to a root and down from it that they take at least.
Instance PartOfAtMost(const Instance& instance, double cost);

// Writes a choice for a part, by Class of the part, as one for the whole that it was made from.
// What the part does not have stays as it is.
void WriteChoice(const Instance& part, std::span<const Node> choice, const Instance& whole,
                 std::vector<Node>& whole_choice);

// The other way, for a part that has what is chosen of each of its classes, or one e-node only.
std::vector<Node> ReadChoice(const Instance& part, const Instance& whole,
                             std::span<const Node> whole_choice);

// The other way, for a part that has what roots need of it, and of other classes only some e-nodes:
// for these `other`, an acyclic choice for the part.
std::vector<Node> ReadNeeded(const Instance& part, const Instance& whole,
                             std::span<const Node> whole_choice, std::vector<Node> other);

}  // namespace quotient::extract
