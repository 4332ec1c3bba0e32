#pragma once

// Lower bounds from landmarks. An acyclic selection is a plan: classes are facts, e-nodes are
// actions that make one fact true and are paid for once, and nothing is ever deleted. So the
// cheapest selection costs what planning calls h+, and bounds on h+ apply: find sets of e-nodes of
// which every selection contains at least one ("disjunctive landmarks"), as cuts, and charge for
// one after the other. Cycles need no special care, since what supports only itself is never
// reached. For e-nodes with one child this is Wong's dual ascent for Steiner arborescences.
//
// References: M. Helmert, C. Domshlak, "Landmarks, critical paths and abstractions: what's the
// difference anyway?", ICAPS 2009 (LM-cut); R. T. Wong, "A dual ascent approach for Steiner tree
// problems on a directed graph", Math. Programming 28, 1984.

#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

struct DualBound {
  // A lower bound on the cost of any selection.
  double bound = 0;
  // Each e-node's cost less what was charged for landmarks that contain it. For any selection, the
  // sum of its reduced costs is at most its cost less `bound`.
  std::vector<double> reduced_cost;
};

// Charges for landmarks until no more are found or `stop` fires; the result is valid in both cases.
// `cost`, by Node, may be any costs >= 0. If `landmarks` is not null, the landmarks are appended to
// it.
DualBound AscendDual(const Instance& instance, std::vector<double> cost, const StopCondition& stop,
                     std::vector<std::vector<Node>>* landmarks = nullptr);

// By Node, false for e-nodes that no selection cheaper than `limit` contains.
std::vector<bool> CanBeCheaper(const Instance& instance, const DualBound& dual, double limit);

}  // namespace quotient::extract
