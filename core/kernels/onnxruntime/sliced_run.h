#pragma once

// Runs every node of a graph once, a few of them at a time. Each slice of nodes reads what earlier
// slices have left in a store, so that the values are never in memory all at once.

#include <span>

#include "absl/status/statusor.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/kernels/onnxruntime/node_kernel.h"

namespace quotient::kernels::onnxruntime {

// `dump` is the graph as ONNX Runtime has optimized it, and runs as it is. Returns what its values
// are like: inputs, constants, and what nodes compute. All but the constants are in `*store` then,
// which the caller has to drop, after an error as well. Fails as HelperClient does, and with
// INTERNAL if the graph cannot be read.
absl::StatusOr<Summaries> RunInSlices(HelperClient& client, const Dump& dump,
                                      std::span<const NamedTensor> inputs, StoreId* store);

}  // namespace quotient::kernels::onnxruntime
