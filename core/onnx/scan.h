#pragma once

// The first pass over the bytes of a model. It checks limits on the wire format, before protobuf
// allocates anything, and sets the raw bytes of the main graph's initializers aside, so that
// protobuf never copies weights.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"

namespace quotient::onnx {

// Walks all messages, including those in subgraphs and functions. MODEL_MALFORMED for bytes that
// are not a protobuf message, LIMIT_* if a limit is exceeded. The error names the place:
// "graph[0].node[3].attribute[0]".
absl::Status ScanModel(absl::string_view model_bytes, const Limits& limits);

struct StrippedModel {
  // The serialized model, with empty raw_data where bytes were set aside.
  std::string skeleton;
  // The bytes that were set aside for each initializer of the main graph, in order. Empty for small
  // tensors, whose bytes stay in the skeleton, and for tensors without raw bytes.
  std::vector<absl::string_view> raw_data;
};

// Only for bytes that ScanModel accepted.
StrippedModel StripModel(absl::string_view model_bytes);

}  // namespace quotient::onnx
