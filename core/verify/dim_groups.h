#pragma once

// Which free dimensions get the same size. A group is named by its first member.

#include <vector>

#include "core/verify/binding_sizes.h"
#include "core/verify/bindings.h"

namespace quotient::verify {

Groups EachItsOwn(const std::vector<FreeDim>& free);

// Dimensions with the same symbol. Those without one are groups of their own.
Groups GroupByName(const std::vector<FreeDim>& free);

// As GroupByName, but dimensions without a symbol are grouped by their size in measuring, first
// dimensions apart from others.
Groups GroupByNameOrNumber(const std::vector<FreeDim>& free);

// All dimensions by their size in measuring. Some exporters give each axis of each input its own
// name, and only the operators determine which of these must be equal. Dimensions with the same
// size in measuring may have to be.
Groups GroupByNumber(const std::vector<FreeDim>& free);

}  // namespace quotient::verify
