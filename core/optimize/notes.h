#pragma once

// Sentences for Report::notes that follow from the model, the options, the decision and the result
// alone.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/onnx/reader.h"
#include "core/optimize/baseline.h"
#include "core/optimize/decide.h"
#include "core/optimize/devices.h"
#include "core/optimize/options.h"
#include "core/report/report.h"

namespace quotient::optimize {

// Notes on a model that was read: what is wrong in its file, what was assumed for measuring, what
// keeps parts of it from being optimized, and what the options do to it.
// `run_with_cut_nodes`: whether the device runs whole files.
std::vector<std::string> NotesOnReading(const Prepared& original, const Options& options,
                                        bool run_with_cut_nodes);

// Notes on what is wrong in the original and is still in the result. `result` is null if the
// original itself came back. A result has neither nodes that nothing reads nor declarations that
// make no sense.
std::vector<std::string> NotesOnObjections(const onnx::Model& original, const onnx::Model* result);

// A note if a snapshot has measured few of this model's kernels. It may have been recorded with
// other models.
std::vector<std::string> NotesOnSnapshot(const report::KernelCounts& kernels);

// A note that kernels and graphs ran on one thread instead of so many (MoveToOneThread).
std::vector<std::string> NotesOnOneThread(int threads);

// A note if other work on the machine disturbed most runs: what was compared instead, if anything.
std::vector<std::string> NotesOnDisturbance(const Decision& decision);

// A note on another device if this one, which runs whole files, refused the original with
// `refusal`. Those that run single kernels do without the nodes that they do not know.
std::vector<std::string> NotesOnRefusal(const Device& device, const absl::Status& refusal);

}  // namespace quotient::optimize
