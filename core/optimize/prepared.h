#pragma once

// Prepared: a model read from bytes and made ready to be checked, predicted and run.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/onnx/reader.h"
#include "core/optimize/measure_shapes.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/verify/cut.h"

namespace quotient::optimize {

struct Prepared {
  onnx::Model model;   // as read; its graph is what the writer starts from
  model::Graph graph;  // types inferred, constants folded; symbols kept
  // The same ids, every symbol bound for measuring; what inference does not know is as declared.
  model::Graph measured;
  verify::CutGraph cut;  // of `measured`, folded once more: what is evaluated and run
  MeasureShapes shapes;
  std::vector<std::string> stale_declarations;  // sentences on types that the file has wrong
};

// Reads, infers, binds options.shapes, folds, binds for measuring, cuts. Errors as for Optimize,
// and for models that are returned as they are: MODEL_SHAPE where types contradict each other,
// which no runtime takes, and SHAPE_MISSING where no sizes are found to measure with.
absl::StatusOr<Prepared> Prepare(const ModelFiles& files, const Options& options, int threads,
                                 const StopCondition& stop);

// The same of a result of ours, with the shapes that the original was measured with.
absl::StatusOr<Prepared> PrepareResult(std::shared_ptr<const OptimizedModel> result,
                                       const MeasureShapes& shapes, int threads,
                                       const StopCondition& stop);

// The graph as it was read, for checking at other dims than those of measuring: nothing in it was
// inferred or folded. Its inputs have the dims that `shapes` (Options::shapes) bound for good.
model::Graph AsRead(const Prepared& prepared,
                    const std::map<std::string, std::vector<int64_t>>& shapes);

// Nodes of the main graph.
int64_t NodeCount(const onnx::Model& model);

}  // namespace quotient::optimize
