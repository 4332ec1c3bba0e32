#pragma once

// Compares any two models in the way in which candidates are compared with their original.

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/report/comparison.h"

namespace quotient::optimize {

// Whether a caller of `first` may call `second` instead: it has the inputs and outputs of `first`,
// takes every size that `first` declares, and computes the same on random inputs, at the sizes of
// measuring and at others (core/verify). Of the options those count that say how models are read,
// with what sizes, and how they are checked. What both models have under one name is used to find
// where they part. Blocks. Fails if a model cannot be read, naming the file; with MODEL_UNSUPPORTED
// if nothing of `first` can be evaluated, if what cannot be is not the same in both, or if there is
// not enough memory; and with CANCELLED or RUN_BUDGET when `stop` fires. Thread-safe.
absl::StatusOr<report::Comparison> CompareModels(const ModelFiles& first, const ModelFiles& second,
                                                 const Options& options, const StopCondition& stop);

}  // namespace quotient::optimize
