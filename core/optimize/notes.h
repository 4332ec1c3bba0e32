#pragma once

// Sentences for Report::notes that follow from the model, the options and the result alone.

#include <string>
#include <vector>

#include "core/onnx/reader.h"
#include "core/optimize/options.h"
#include "core/optimize/prepared.h"
#include "core/report/report.h"

namespace quotient::optimize {

// What a user has to know of a model that was read: what its file has wrong, what was assumed for
// measuring, what keeps parts of it from being optimized, and what the options do to it.
std::vector<std::string> NotesOnReading(const Prepared& original, const Options& options);

// What is wrong in the original and still stands in the result: `result` is null where the original
// itself came back. Nodes that nothing reads are not in a result, nor are claims about values that
// make no sense.
std::vector<std::string> NotesOnObjections(const onnx::Model& original, const onnx::Model* result);

// Whether the snapshot of a device knows too little of this model's kernels. It may have been
// recorded with other models.
std::vector<std::string> NotesOnSnapshot(const report::KernelCounts& kernels);

}  // namespace quotient::optimize
