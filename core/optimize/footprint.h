#pragma once

// What running a graph takes, before it is tried.

#include <cstdint>

#include "core/model/graph.h"

namespace quotient::optimize {

// Bytes that checking a static graph on so many sets of inputs, and running it, will take at about
// the same time, its constants apart: inputs, and the most that values take at one time. An
// estimate; the evaluator works on wider numbers than the model's.
int64_t BytesToRun(const model::Graph& graph, int input_sets);

}  // namespace quotient::optimize
