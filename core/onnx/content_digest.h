#pragma once

#include "absl/status/statusor.h"
#include "core/base/digest.h"
#include "core/onnx/reader.h"

namespace quotient::onnx {

// As model::GraphDigest, but models are also equal if the tensors of their opaque nodes have equal
// bytes in other places: in the model, or anywhere in its files. `model.graph` must be the graph
// that was read. Fails with INTERNAL if the content of an opaque node cannot be parsed.
absl::StatusOr<Digest> ContentDigest(const Model& model);

}  // namespace quotient::onnx
