#pragma once

// The numbers of a model that a dimension of its inputs may have to be equal to.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/graph.h"

namespace quotient::model {

// Returns at most `most` distinct numbers from 2 to 65,536 that occur in the graph as a dim of a
// constant, as an element of a small integer constant, or in the target of a Reshape or an Expand.
// Those whose ratio to `near`, which is positive, is closest to 1 are chosen and come first.
std::vector<int64_t> OccurringSizes(const Graph& graph, int64_t near, size_t most);

}  // namespace quotient::model
