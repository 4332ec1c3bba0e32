#pragma once

// Runs a graph that ONNX Runtime has optimized once, a few nodes at a time. Each slice reads what
// earlier ones have left in a store, so that not all values are in memory at once. Every node runs
// once.

#include <span>

#include "absl/status/statusor.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/kernels/onnxruntime/node_kernel.h"

namespace quotient::kernels::onnxruntime {

// Returns what all values are like: inputs, constants, and what nodes compute. All but the
// constants are in `*store` then, which the caller has to drop, also after an error. Fails as
// HelperClient does, and with INTERNAL if the graph cannot be read.
absl::StatusOr<Summaries> RunInSlices(HelperClient& client, const Dump& dump,
                                      std::span<const NamedTensor> inputs, StoreId* store);

}  // namespace quotient::kernels::onnxruntime
