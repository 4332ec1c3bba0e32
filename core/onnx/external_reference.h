#pragma once

// Reads, checks and writes the external_data entries of a TensorProto.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// The bytes of files, by location.
using ExternalFiles = std::map<std::string, absl::string_view>;

struct ExternalReference {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;  // Without a value, up to the end of the file.
};

inline bool IsExternal(const TensorProto& tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

// Reads the entries of a tensor for which IsExternal holds. Fails with MODEL_MALFORMED for unknown
// or repeated keys and invalid or negative numbers, and with EXTERNAL_DATA_PATH for a missing or
// forbidden location.
absl::StatusOr<ExternalReference> ReadExternalReference(const TensorProto& tensor,
                                                        absl::string_view where,
                                                        const Limits& limits);

// Returns the bytes that the reference names. EXTERNAL_DATA_MISSING if the file was not sent along,
// MODEL_MALFORMED if they are not entirely inside the file.
absl::StatusOr<absl::string_view> ResolveReference(const ExternalReference& reference,
                                                   const ExternalFiles& files,
                                                   absl::string_view where);

// Makes `tensor` refer to these bytes alone. An old checksum is removed.
void WriteExternalReference(const ExternalReference& reference, TensorProto* tensor);

}  // namespace quotient::onnx
