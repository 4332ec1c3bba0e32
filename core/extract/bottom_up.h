#pragma once

// Knuth's generalisation of Dijkstra's algorithm: classes are settled in the order of the cost of
// their cheapest e-node, whose children are all settled before, so the choice is acyclic.
// O(n log n). Reference: D. E. Knuth, "A generalization of Dijkstra's algorithm", IPL 6(1), 1977.

#include <functional>
#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

struct BottomUpResult {
  std::vector<Node> choice;   // by Class
  std::vector<double> value;  // by Class: what its parents are charged
};

// Tree cost: an e-node's own cost and its children's, as often as they occur. Optimal.
BottomUpResult MinimizeTreeCost(const Instance& instance);

// As tree cost, but a class charges each parent only its share: its value divided by `uses`, an
// estimate >= 1 of how many will use it. A heuristic (the "area flow" of logic synthesis).
BottomUpResult MinimizeSharedCost(const Instance& instance, std::span<const double> uses);

// Cost of the most expensive path instead of the sum: no selection can be cheaper. Optimal.
BottomUpResult MinimizePathCost(const Instance& instance);

}  // namespace quotient::extract
