#pragma once

// Estimates the memory that a job takes, before it is tried.

#include <cstddef>

#include "absl/status/status.h"
#include "core/model/graph.h"

namespace quotient::optimize {

// Returns an estimate of the bytes that optimizing a model takes at most at one time, beside the
// program itself. It is meant to be too large rather than too small, because jobs are admitted by
// it. `graph` is the part of the model that is run. The check holds `input_sets` sets of inputs and
// outputs. `candidates` graphs of about the same size exist beside the original, each with
// constants of its own that were folded, and with packed constants and buffers to run. The files
// that came are not counted: the caller has them already.
double BytesToRun(const model::Graph& graph, int input_sets, int candidates);

// Returns the bytes of a graph's constants, most of which are weights.
double BytesOfConstants(const model::Graph& graph);

// Returns how many files of about the size of `graph`, each with weights of its own, may be loaded
// at a time, so that a job takes no more than three times the weights of the model and 300 MB: at
// least two, as nothing can be compared otherwise.
size_t FilesThatFit(const model::Graph& graph);

// Fails with MODEL_UNSUPPORTED if that is more memory than this machine can spare.
absl::Status CheckFits(const model::Graph& graph, int input_sets, int candidates);

}  // namespace quotient::optimize
