#pragma once

// The external_data entries of one TensorProto, read and checked.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Location string -> the file's bytes.
using ExternalFiles = std::map<std::string, absl::string_view>;

struct ExternalReference {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;  // nothing: to the end of the file
};

inline bool IsExternal(const TensorProto& tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

// Only for IsExternal tensors. MODEL_MALFORMED for unknown keys, numbers that are none or negative,
// a missing location; EXTERNAL_DATA_PATH.
absl::StatusOr<ExternalReference> ReadExternalReference(const TensorProto& tensor,
                                                        absl::string_view where,
                                                        const Limits& limits);

// The bytes it names. EXTERNAL_DATA_MISSING if the file was not sent along, MODEL_MALFORMED if they
// are not all inside it.
absl::StatusOr<absl::string_view> ResolveReference(const ExternalReference& reference,
                                                   const ExternalFiles& files,
                                                   absl::string_view where);

// Makes `tensor` name these bytes and nothing else; a checksum of what it named before goes.
void WriteExternalReference(const ExternalReference& reference, TensorProto* tensor);

}  // namespace quotient::onnx
