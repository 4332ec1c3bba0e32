#pragma once

#include <string>
#include <vector>

#include "core/model/graph.h"

namespace quotient::optimize {

// Why a caller of `first` could not call `second` with the same inputs and use its outputs, a
// sentence each: inputs and outputs are found by name and by position, types are those that the
// files declare, and a dimension that `first` leaves open must be open in `second`. Both graphs are
// as read. Empty if nothing speaks against it; `second` may have more inputs with defaults, and may
// take more sizes.
std::vector<std::string> InterfaceDifferences(const model::Graph& first,
                                              const model::Graph& second);

}  // namespace quotient::optimize
