#pragma once

// Parses untrusted model bytes: scans them, sets weights aside, and parses the rest, all with
// explicit limits.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

struct ParsedModel {
  ModelProto proto;
  std::vector<absl::string_view> raw_data;  // As StrippedModel::raw_data.
};

// The result has a graph. Fails with MODEL_MALFORMED or LIMIT_*.
absl::StatusOr<ParsedModel> ParseModel(absl::string_view model_bytes, const Limits& limits);

}  // namespace quotient::onnx
