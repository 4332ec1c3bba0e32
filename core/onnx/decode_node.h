#pragma once

// Converts a node of the default domain to a canonical node.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/onnx/proto.h"
#include "core/onnx/weights.h"

namespace quotient::onnx {

struct NodeInputs {
  std::vector<model::ValueId> ids;              // As in the NodeProto; invalid if left out.
  std::vector<const model::Tensor*> constants;  // Null if not constant.
  std::vector<const model::TensorType*> types;  // Null if left out.
};

// Returns the canonical form of `proto`, a node of a model with that opset, without name and
// source. `outputs` are the ids of its outputs. Returns nullopt if the node has to stay opaque,
// because its operator has no row in the table or because of attributes, outputs or values that are
// not understood. MODEL_MALFORMED or MODEL_SHAPE for invalid parameters. There must be no Objection
// (objection.h) to `proto` at `opset`.
//
// Softmax and LogSoftmax before opset 13 get the attribute kCoercedAxis instead of "axis", unless
// they certainly normalize only the last dimension.
absl::StatusOr<std::optional<model::Node>> DecodeNode(const NodeProto& proto, int opset,
                                                      const NodeInputs& inputs,
                                                      std::vector<model::ValueId> outputs,
                                                      const WeightSource& source);

inline constexpr char kCoercedAxis[] = "coerced_axis";

}  // namespace quotient::onnx
