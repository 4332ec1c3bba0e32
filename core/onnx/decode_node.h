#pragma once

// One node of the default domain -> the canonical node.

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
  std::vector<model::ValueId> ids;              // as in the NodeProto; invalid: left out
  std::vector<const model::Tensor*> constants;  // null: not constant
  std::vector<const model::TensorType*> types;  // null: left out
};

// The canonical form of `proto` read at `opset`, without name and source; `outputs` are the ids of
// its outputs. Nothing if it has to stay opaque: an operator without a row, attributes, outputs or
// values we do not understand. MODEL_MALFORMED or MODEL_SHAPE for parameters that make no sense.
// There must be no Objection (objection.h) to `proto` at `opset`.
//
// Softmax and LogSoftmax before opset 13 come out with the attribute kCoercedAxis in place of
// "axis" unless it is certain that they normalise the last dimension alone.
absl::StatusOr<std::optional<model::Node>> DecodeNode(const NodeProto& proto, int opset,
                                                      const NodeInputs& inputs,
                                                      std::vector<model::ValueId> outputs,
                                                      const WeightSource& source);

inline constexpr char kCoercedAxis[] = "coerced_axis";

}  // namespace quotient::onnx
