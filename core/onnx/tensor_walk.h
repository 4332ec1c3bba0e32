#pragma once

// Every TensorProto of a message, wherever it hides: initializers, attributes, sparse tensors,
// subgraphs, functions, training information.

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// A tensor and where it stands, for messages: "initializer 'w'", "attribute 'value' of node 'c'".
// Its first error ends the walk.
using TensorVisitor = std::function<absl::Status(TensorProto& tensor, absl::string_view where)>;

// Without the initializers of the main graph.
absl::Status VisitNestedTensors(ModelProto& model, const TensorVisitor& visit);
absl::Status VisitTensors(NodeProto& node, const TensorVisitor& visit);
absl::Status VisitTensors(SparseTensorProto& sparse, absl::string_view where,
                          const TensorVisitor& visit);

}  // namespace quotient::onnx
