#pragma once

// A bound that no selection can be below; cheap and often weak.

#include "core/extract/instance.h"

namespace quotient::extract {

// The larger of: the path that cannot be avoided, and the cheapest e-nodes of all classes that
// every selection needs.
double LowerBound(const Instance& instance);

}  // namespace quotient::extract
