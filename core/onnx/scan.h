#pragma once

// The first pass over a model's bytes: limits are checked on the wire format, before protobuf
// allocates anything, and the raw bytes of the main graph's initializers are set aside, so that
// weights are never copied through protobuf.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"

namespace quotient::onnx {

// Walks all messages, those of subgraphs and functions too. MODEL_MALFORMED for bytes that are no
// protobuf, LIMIT_* for what exceeds a limit; the message says where: "graph.node[3].attribute[0]".
absl::Status ScanModel(absl::string_view model_bytes, const Limits& limits);

struct StrippedModel {
  // The model with empty raw_data where bytes were set aside.
  std::string skeleton;
  // For each initializer of the main graph, in order, the bytes set aside; empty where they are
  // still in the skeleton (small tensors and those that hold no raw bytes).
  std::vector<absl::string_view> raw_data;
};

// Only for bytes that ScanModel accepted.
StrippedModel StripModel(absl::string_view model_bytes);

}  // namespace quotient::onnx
