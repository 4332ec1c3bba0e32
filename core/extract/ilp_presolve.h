#pragma once

// Presolve: makes an extraction problem smaller before a solver gets it.

#include <optional>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// Returns the part of `instance` that matters to selections cheaper than `cutoff`: if there are
// any, a cheapest of all selections remains. Drops e-nodes that have their own class as a child,
// that another e-node of the class can always replace, or that no selection cheaper than `cutoff`
// contains, and what can then no longer be derived or reached. Nothing if no selection is cheaper
// than `cutoff`. If `stop` fires, the part is larger than necessary.
std::optional<Instance> Presolve(const Instance& instance, double cutoff,
                                 const StopCondition& stop);

}  // namespace quotient::extract
