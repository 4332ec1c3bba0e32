#pragma once

// A lower bound on the cost of any selection that is cheap to compute and often weak.

#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

// Classes that every selection needs: the roots and, repeatedly, the children that all e-nodes of
// such a class have in common.
std::vector<Class> ForcedClasses(const Instance& instance);

// The larger of two bounds: the least cost that the dearest path below a root can have, and the sum
// of the cheapest e-nodes of all classes found by ForcedClasses.
double LowerBound(const Instance& instance);

}  // namespace quotient::extract
