#pragma once

// What a model's file costs on a device that runs files and optimizes them by itself: the sum over
// the nodes that the device makes of it. A rewrite that the device makes anyway, or undoes, then
// gains nothing.

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/kernels/backend.h"
#include "core/model/tensor.h"
#include "core/optimize/devices.h"
#include "core/optimize/prepared.h"

namespace quotient::optimize {

// What both files of a comparison are run with.
struct FileCostContext {
  const verify::CutGraph& original;
  // Values for the inputs of original.graph, in the order of the graph.
  std::vector<model::Tensor> inputs;
  // That of the original's kernels (Backend::KernelsOfFile); 0 until these are known.
  int footprint_log2 = 0;
};

// Draws the inputs.
FileCostContext NewFileCostContext(const Prepared& original, uint64_t seed);

// The cost of the file that `prepared` was read from, whose kernels are requested and waited for.
// Each kernel belongs to the node of prepared.cut.graph that it comes from, as far as names tell,
// or to none. Nullopt where files are not run, and where the device cannot tell the kernels of this
// one. `until` is asked how long to wait once the kernels are known, which may take seconds itself.
// Kernels that are not measured by then are estimated.
std::optional<cost::GraphCost> CostOfFile(Device& device, const kernels::ModelFile& file,
                                          const Prepared& prepared, const FileCostContext& context,
                                          absl::FunctionRef<StopCondition()> until);

}  // namespace quotient::optimize
