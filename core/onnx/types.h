#pragma once

// Converts TypeProto to TensorType and back.

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/shape.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

struct DeclaredType {
  // False for sequences, maps, optionals, sparse tensors, and element types that the evaluator does
  // not compute with (strings, 8-bit floats, ...). Nodes that read or write such values stay
  // opaque.
  bool computable = true;
  model::TensorType type;  // As far as a TensorType can express it.
};

// Returns the declared type of a value. A missing type is computable and unknown. A negative
// dimension, which some exporters write for "any", is unknown, and so is a dimension whose name
// does not identify it: "?", "-1", "None", blanks, any number. Other names are symbols. Fails with
// MODEL_MALFORMED, LIMIT_DIMS or LIMIT_BYTES.
absl::StatusOr<DeclaredType> ReadType(const TypeProto& type, absl::string_view where,
                                      const Limits& limits);

// Describes a value whose rank is known. Dimensions that are neither numbers nor symbols of the
// model are left open.
void DescribeValue(absl::string_view name, const model::TensorType& type, ValueInfoProto* info);

}  // namespace quotient::onnx
