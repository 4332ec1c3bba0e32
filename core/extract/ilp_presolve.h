#pragma once

// Makes an extraction problem smaller before it is handed to a solver.

#include <optional>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// The part of `instance` that matters to selections cheaper than `cutoff`: if there are such, a
// cheapest of all is left. Without e-nodes that have their own class as a child, that another of
// the class can always stand in for, or that nothing cheaper than `cutoff` contains; and without
// what then cannot be derived or reached. Nothing: no selection is cheaper than `cutoff`.
// `stop` ends it early, with a part that is larger than need be.
std::optional<Instance> Presolve(const Instance& instance, double cutoff,
                                 const StopCondition& stop);

}  // namespace quotient::extract
