#pragma once

// TypeProto -> TensorType.

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/shape.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

struct DeclaredType {
  // False for sequences, maps, optionals, sparse tensors and element types that the evaluator does
  // not compute with (strings, 8-bit floats, ...): nodes that touch such a value stay opaque.
  bool computable = true;
  model::TensorType type;  // what there is to say in model's terms
};

// The type a value is declared with; one without any type is computable and unknown. A negative
// dimension, which some exporters write for "any", is unknown, and so is one whose name says that
// nothing is known: "?", "-1", "None", blanks, any number. Other names are symbols.
// MODEL_MALFORMED, LIMIT_DIMS, LIMIT_BYTES.
absl::StatusOr<DeclaredType> ReadType(const TypeProto& type, absl::string_view where,
                                      const Limits& limits);

}  // namespace quotient::onnx
