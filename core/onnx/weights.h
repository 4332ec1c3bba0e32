#pragma once

// Converts between TensorProto and Tensor. The size of every tensor in a model is checked with
// overflow-safe arithmetic, and bytes are referenced without a copy where possible.

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/tensor.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// The places where the bytes of a model's tensors are.
struct WeightSource {
  const ExternalFiles& files;
  const Limits& limits;
  std::shared_ptr<const void> owner;  // Keeps the model's bytes and files alive; may be null.
};

// Checks the element type, the dimensions, and that the data, wherever it is, has exactly the
// length that these require. `raw_data` are the bytes of this tensor that were set aside, empty if
// there are none. Fails with MODEL_MALFORMED, MODEL_UNSUPPORTED, LIMIT_DIMS, LIMIT_BYTES,
// EXTERNAL_DATA_PATH or EXTERNAL_DATA_MISSING.
absl::Status CheckTensor(const TensorProto& tensor, absl::string_view raw_data,
                         absl::string_view where, const WeightSource& source);

// Whether model::Tensor supports this element type. Strings and the newest types are not supported.
bool IsRepresentable(const TensorProto& tensor);

// Converts a tensor that passed CheckTensor and is representable. Bytes that were set aside or are
// in a file are referenced, whatever their alignment; all others are copied.
model::Tensor ToTensor(const TensorProto& tensor, absl::string_view raw_data,
                       const WeightSource& source);

// The bytes of a tensor for which IsExternal holds. Fails as CheckTensor does.
absl::StatusOr<absl::string_view> ExternalBytes(const TensorProto& tensor, absl::string_view where,
                                                const WeightSource& source);

// Removes the data in every form, including references to external data.
void ClearData(TensorProto* tensor);

// Stores the bytes in the tensor. If it has typed data, which must be the same, that is kept.
void SetInlineBytes(absl::string_view bytes, TensorProto* tensor);

// A tensor with this name, type and dimensions, to which the caller has to add the data.
TensorProto TensorHeader(absl::string_view name, const model::Tensor& tensor);

}  // namespace quotient::onnx
