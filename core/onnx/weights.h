#pragma once

// TensorProto <-> Tensor: size arithmetic of our own for every tensor a model declares, and bytes
// that are referenced where they lie.

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/tensor.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Where the bytes of a model's tensors are.
struct WeightSource {
  const ExternalFiles& files;
  const Limits& limits;
  std::shared_ptr<const void> owner;  // keeps model and files alive; may be null
};

// Checks element type, dimensions and that the data is exactly as long as they say, wherever it is.
// `raw_data`: what was set aside of this tensor, else empty. MODEL_MALFORMED, LIMIT_DIMS,
// LIMIT_BYTES, EXTERNAL_DATA_PATH, EXTERNAL_DATA_MISSING.
absl::Status CheckTensor(const TensorProto& tensor, absl::string_view raw_data,
                         absl::string_view where, const WeightSource& source);

// Whether model::Tensor has this element type: all but strings and the newest.
bool IsRepresentable(const TensorProto& tensor);

// Only for tensors that passed CheckTensor and are representable. Bytes that lie set aside or in a
// file are referenced if they are aligned for their elements; all others are copied.
model::Tensor ToTensor(const TensorProto& tensor, absl::string_view raw_data,
                       const WeightSource& source);

// The bytes of an IsExternal tensor; fails as CheckTensor does.
absl::StatusOr<absl::string_view> ExternalBytes(const TensorProto& tensor, absl::string_view where,
                                                const WeightSource& source);

// Removes the data, in whatever form it is, and where it was.
void ClearData(TensorProto* tensor);

// Makes these the tensor's data. Typed data that is inline already means the same and stays.
void SetInlineBytes(absl::string_view bytes, TensorProto* tensor);

// Name, type, dimensions; the data is for the caller to add.
TensorProto TensorHeader(absl::string_view name, const model::Tensor& tensor);

inline absl::string_view BytesOf(const model::Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()};
}

}  // namespace quotient::onnx
