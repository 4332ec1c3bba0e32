#pragma once

// A bound that no selection can be below; cheap and often weak.

#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

// The classes that every selection needs: the roots and, again and again, the children that all
// e-nodes of such a class have.
std::vector<Class> ForcedClasses(const Instance& instance);

// The larger of: the path that cannot be avoided, and the cheapest e-nodes of all classes that
// every selection needs.
double LowerBound(const Instance& instance);

}  // namespace quotient::extract
