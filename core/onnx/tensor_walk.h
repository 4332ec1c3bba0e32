#pragma once

// Visits every TensorProto in a message: in initializers, attributes, sparse tensors, subgraphs,
// functions and training information.

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {

// Gets a tensor and a text that says in messages where the tensor is: "initializer 'w'", "attribute
// 'value' of node 'c'". An error ends the walk.
using TensorVisitor = std::function<absl::Status(TensorProto& tensor, absl::string_view where)>;

// Visits all tensors of the model except the initializers of the main graph.
absl::Status VisitNestedTensors(ModelProto& model, const TensorVisitor& visit);
absl::Status VisitTensors(NodeProto& node, const TensorVisitor& visit);
absl::Status VisitTensors(SparseTensorProto& sparse, absl::string_view where,
                          const TensorVisitor& visit);

}  // namespace quotient::onnx
