#include "core/onnx/parse.h"

#include <google/protobuf/io/coded_stream.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/scan.h"

namespace quotient::onnx {

absl::StatusOr<ParsedModel> ParseModel(absl::string_view model_bytes, const Limits& limits) {
  QUOTIENT_RETURN_IF_ERROR(ScanModel(model_bytes, limits));
  StrippedModel stripped = StripModel(model_bytes);
  if (static_cast<int64_t>(stripped.skeleton.size()) > limits.max_structure_bytes) {
    return ErrorAt(
        Reason::kLimitBytes, "model",
        absl::StrCat(stripped.skeleton.size(), " bytes without raw weights, the limit is ",
                     limits.max_structure_bytes));
  }
  ParsedModel parsed;
  parsed.raw_data = std::move(stripped.raw_data);
  google::protobuf::io::CodedInputStream input(
      reinterpret_cast<const uint8_t*>(stripped.skeleton.data()),
      static_cast<int>(stripped.skeleton.size()));
  input.SetRecursionLimit(limits.max_message_depth + 1);
  if (!parsed.proto.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    return Malformed("model", "is not a valid protobuf message");
  }
  if (!parsed.proto.has_graph()) return Malformed("model", "has no graph");
  return parsed;
}

}  // namespace quotient::onnx
