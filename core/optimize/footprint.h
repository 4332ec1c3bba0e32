#pragma once

// Estimates the memory that a job takes, before it is tried.

#include <cstddef>

#include "absl/status/status.h"
#include "core/model/graph.h"
#include "core/optimize/device_table.h"
#include "core/optimize/optimize.h"

namespace quotient::optimize {

// What a job does with a model.
struct JobLoad {
  // Bytes of the model's constants that do not lie in its files.
  double own_constant_bytes = 0;
  int input_sets = 0;  // Sets of inputs and outputs that the check holds.
  // Graphs of about the same size that exist beside the original, each with constants of its own
  // that were folded.
  int candidates = 0;
  // Graphs that are loaded to run at the same time, each with packed constants and buffers. The
  // original is one of them. 0 if nothing is run.
  int loaded = 0;
};

// The load of a job that begins with `files`. `graph` is the part of the model that is run.
JobLoad LoadOf(const ModelFiles& files, const model::Graph& graph, RunBy by, int input_sets,
               int candidates);

// Returns an estimate of the bytes that a job takes at most at one time, beside the program itself.
// It is meant to be too large rather than too small, because jobs are admitted by it. `graph` is
// the part of the model that is run. What lies in the files that came is not counted: the caller
// has them already.
double BytesToRun(const model::Graph& graph, const JobLoad& load);

// Returns the bytes of a graph's constants, most of which are weights.
double BytesOfConstants(const model::Graph& graph);

// Returns how many files of about the size of `graph`, each with weights of its own, may be loaded
// at a time, so that a job takes no more than three times the weights of the model and 300 MB: at
// least two, as nothing can be compared otherwise.
size_t FilesThatFit(const model::Graph& graph);

// Fails with MODEL_UNSUPPORTED if that is more memory than this machine can spare.
absl::Status CheckFits(const model::Graph& graph, const JobLoad& load);

}  // namespace quotient::optimize
