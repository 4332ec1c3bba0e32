#pragma once

// The road that all untrusted model bytes take: scan, strip, parse with explicit limits.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

struct ParsedModel {
  ModelProto proto;
  std::vector<absl::string_view> raw_data;  // see StrippedModel
};

// MODEL_MALFORMED or LIMIT_*. The model has a graph.
absl::StatusOr<ParsedModel> ParseModel(absl::string_view model_bytes, const Limits& limits);

}  // namespace quotient::onnx
