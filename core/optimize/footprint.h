#pragma once

// What running a graph takes, before it is tried.

#include "core/model/graph.h"

namespace quotient::optimize {

// Bytes that optimizing a model will take at about the same time at most, where `graph` is what is
// run of it: `input_sets` of inputs and outputs for the check, and then `executables` of about its
// size side by side, each with packed constants and buffers of its own. An estimate.
double BytesToRun(const model::Graph& graph, int input_sets, int executables);

}  // namespace quotient::optimize
