#pragma once

// Lower bounds from landmarks. An acyclic selection is a plan: classes are facts, e-nodes are
// actions that make one fact true and are paid for once, nothing is ever deleted. So the cheapest
// selection costs what planning calls h+, and what bounds h+ holds here: sets of e-nodes of which
// every selection has at least one ("disjunctive landmarks"), found as cuts and charged for one
// after the other. Cycles need no care: what supports only itself is not reached. For e-nodes with
// one child this is Wong's dual ascent for Steiner arborescences.
//
// References: M. Helmert, C. Domshlak, "Landmarks, critical paths and abstractions: what's the
// difference anyway?", ICAPS 2009 (LM-cut); R. T. Wong, "A dual ascent approach for Steiner tree
// problems on a directed graph", Math. Programming 28, 1984.

#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

struct DualBound {
  // No selection is cheaper.
  double bound = 0;
  // Each e-node's cost less what was charged for landmarks with it. Sum over a selection: at most
  // its cost less `bound`.
  std::vector<double> reduced_cost;
};

// Charges for landmarks until no more are found or `stop` says so; what it has is valid then, too.
// `cost`, by e-node, may be any costs >= 0. The landmarks go to `landmarks`, if it is not null.
DualBound AscendDual(const Instance& instance, std::vector<double> cost, const StopCondition& stop,
                     std::vector<std::vector<Node>>* landmarks = nullptr);

// By e-node, false for those that no selection cheaper than `limit` has.
std::vector<bool> CanBeCheaper(const Instance& instance, const DualBound& dual, double limit);

}  // namespace quotient::extract
