#pragma once

// Knuth's generalization of Dijkstra's algorithm. Classes are settled in the order of the cost of
// their cheapest e-node, whose children are all settled before, so the choice is acyclic. O(n log
// n). Reference: D. E. Knuth, "A generalization of Dijkstra's algorithm", IPL 6(1), 1977.

#include <functional>
#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

struct BottomUpResult {
  std::vector<Node> choice;   // By Class.
  std::vector<double> value;  // Indexed by Class: what parents are charged for it.
};

// Minimizes tree cost: an e-node's own cost plus that of its children, as often as they occur.
// Optimal.
BottomUpResult MinimizeTreeCost(const Instance& instance);

// Like tree cost, but a class charges each parent only a share: its value divided by `uses`, an
// estimate >= 1 of its number of users. A heuristic (the "area flow" of logic synthesis).
BottomUpResult MinimizeSharedCost(const Instance& instance, std::span<const double> uses);

// Minimizes the cost of the most expensive path instead of the sum, a lower bound on the cost of
// any selection. Optimal.
BottomUpResult MinimizePathCost(const Instance& instance);

}  // namespace quotient::extract
