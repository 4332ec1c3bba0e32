#pragma once

// Names the dimensions of a model of which only one size was checked.

#include <span>
#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/verify/bindings.h"
#include "core/verify/checker.h"

namespace quotient::verify {

// A sentence on each dimension that had one size at all bindings, and on its symbol once. Empty if
// there is no binding. At most three; the last one counts the others.
std::vector<std::string> SizesThatStayed(const model::Graph& graph, const Shapes& measured,
                                         std::span<const CheckedBinding> bindings);

}  // namespace quotient::verify
