#pragma once

// Finds the places where two graphs differ, so that a page can show what was there beside what took
// its place, and equal places of repeated blocks once.

#include <cstdint>
#include <vector>

#include "core/report/report.h"

namespace quotient::report {

// A place where the graphs differ, or several that are alike: the same operators, joined in the
// same way. Lists are in ascending order, and only one of them may be empty.
struct Change {
  std::vector<int> before;  // Indices of nodes that the first graph alone has, at the first place.
  std::vector<int> after;   // Those that the second graph alone has.
  int64_t places = 1;
};

// In the order in which the places come in the first graph; those that have nothing there come
// last. Takes time in proportion to the number of nodes and edges.
std::vector<Change> FindChanges(const std::vector<DrawnNode>& before,
                                const std::vector<DrawnNode>& after);

// The nodes with these indices, with those that are next to them, up to a number: the surroundings
// that a drawing needs. Inputs are renumbered, and those from elsewhere are left out.
std::vector<DrawnNode> Excerpt(const std::vector<DrawnNode>& nodes, const std::vector<int>& wanted);

}  // namespace quotient::report
