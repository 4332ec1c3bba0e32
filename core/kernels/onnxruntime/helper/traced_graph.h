#pragma once

// What ONNX Runtime makes of a model, with all its values as outputs, so that one run shows the
// types and the contents of all that its nodes read and compute. Works on protobuf's wire format,
// because the helper process has none of ONNX's messages.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::kernels::onnxruntime {

struct TracedGraph {
  // The model with this appended has all values as outputs: protobuf merges a message that is there
  // twice, and lists in it grow.
  std::string more_outputs;
  std::string outline;              // The model without the data of large initializers.
  std::vector<std::string> values;  // Inputs, initializers, and what nodes compute.
};

// `model` is an ONNX model. Fails with INVALID_ARGUMENT if it is not.
absl::StatusOr<TracedGraph> TraceGraph(absl::string_view model);

}  // namespace quotient::kernels::onnxruntime
