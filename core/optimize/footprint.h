#pragma once

// Estimates the memory that running a graph takes, before it is tried.

#include "absl/status/status.h"
#include "core/model/graph.h"

namespace quotient::optimize {

// Returns an estimate of the bytes that optimizing a model takes at most at one time. `graph` is
// the part of the model that is run. The check holds `input_sets` sets of inputs and outputs, and
// then `executables` graphs of about its size exist side by side, each with its own packed
// constants and buffers.
double BytesToRun(const model::Graph& graph, int input_sets, int executables);

// Fails with MODEL_UNSUPPORTED if that is more memory than this machine can spare.
absl::Status CheckFits(const model::Graph& graph, int input_sets, int executables);

}  // namespace quotient::optimize
