#pragma once

// What running a graph takes, before it is tried.

#include "absl/status/status.h"
#include "core/model/graph.h"

namespace quotient::optimize {

// Bytes that optimizing a model will take at about the same time at most, where `graph` is what is
// run of it: `input_sets` of inputs and outputs for the check, and then `executables` of about its
// size side by side, each with packed constants and buffers of its own. An estimate.
double BytesToRun(const model::Graph& graph, int input_sets, int executables);

// MODEL_UNSUPPORTED if that is more than this machine has to spare.
absl::Status CheckFits(const model::Graph& graph, int input_sets, int executables);

}  // namespace quotient::optimize
