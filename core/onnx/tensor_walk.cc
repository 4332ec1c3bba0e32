#include "core/onnx/tensor_walk.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace quotient::onnx {
namespace {

absl::Status VisitGraph(GraphProto& graph, const TensorVisitor& visit);

absl::Status VisitAttribute(AttributeProto& attribute, absl::string_view owner,
                            const TensorVisitor& visit) {
  // Most attributes contain no tensors, so no text is made for them.
  if (!attribute.has_t() && !attribute.has_g() && !attribute.has_sparse_tensor() &&
      attribute.tensors().empty() && attribute.graphs().empty() &&
      attribute.sparse_tensors().empty()) {
    return absl::OkStatus();
  }
  const std::string where = absl::StrCat("attribute '", Escaped(attribute.name()), "' of ", owner);
  if (attribute.has_t()) QUOTIENT_RETURN_IF_ERROR(visit(*attribute.mutable_t(), where));
  for (TensorProto& tensor : *attribute.mutable_tensors()) {
    QUOTIENT_RETURN_IF_ERROR(visit(tensor, where));
  }
  if (attribute.has_sparse_tensor()) {
    QUOTIENT_RETURN_IF_ERROR(VisitTensors(*attribute.mutable_sparse_tensor(), where, visit));
  }
  for (SparseTensorProto& sparse : *attribute.mutable_sparse_tensors()) {
    QUOTIENT_RETURN_IF_ERROR(VisitTensors(sparse, where, visit));
  }
  if (attribute.has_g()) QUOTIENT_RETURN_IF_ERROR(VisitGraph(*attribute.mutable_g(), visit));
  for (GraphProto& graph : *attribute.mutable_graphs()) {
    QUOTIENT_RETURN_IF_ERROR(VisitGraph(graph, visit));
  }
  return absl::OkStatus();
}

// Visits all tensors of a graph except its initializers.
absl::Status VisitGraphRest(GraphProto& graph, const TensorVisitor& visit) {
  for (SparseTensorProto& sparse : *graph.mutable_sparse_initializer()) {
    const std::string where =
        absl::StrCat("sparse initializer '", Escaped(sparse.values().name()), "'");
    QUOTIENT_RETURN_IF_ERROR(VisitTensors(sparse, where, visit));
  }
  for (NodeProto& node : *graph.mutable_node()) {
    QUOTIENT_RETURN_IF_ERROR(VisitTensors(node, visit));
  }
  return absl::OkStatus();
}

absl::Status VisitGraph(GraphProto& graph, const TensorVisitor& visit) {
  for (TensorProto& tensor : *graph.mutable_initializer()) {
    QUOTIENT_RETURN_IF_ERROR(
        visit(tensor, absl::StrCat("initializer '", Escaped(tensor.name()), "' of graph '",
                                   Escaped(graph.name()), "'")));
  }
  return VisitGraphRest(graph, visit);
}

}  // namespace

absl::Status VisitTensors(SparseTensorProto& sparse, absl::string_view where,
                          const TensorVisitor& visit) {
  if (sparse.has_values()) QUOTIENT_RETURN_IF_ERROR(visit(*sparse.mutable_values(), where));
  if (sparse.has_indices()) QUOTIENT_RETURN_IF_ERROR(visit(*sparse.mutable_indices(), where));
  return absl::OkStatus();
}

absl::Status VisitTensors(NodeProto& node, const TensorVisitor& visit) {
  if (node.attribute().empty()) return absl::OkStatus();
  const std::string owner =
      absl::StrCat("node '", Escaped(node.name()), "' (", Escaped(node.op_type()), ")");
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    QUOTIENT_RETURN_IF_ERROR(VisitAttribute(attribute, owner, visit));
  }
  return absl::OkStatus();
}

absl::Status VisitNestedTensors(ModelProto& model, const TensorVisitor& visit) {
  QUOTIENT_RETURN_IF_ERROR(VisitGraphRest(*model.mutable_graph(), visit));
  for (FunctionProto& function : *model.mutable_functions()) {
    for (NodeProto& node : *function.mutable_node()) {
      QUOTIENT_RETURN_IF_ERROR(VisitTensors(node, visit));
    }
    const std::string owner = absl::StrCat("function '", Escaped(function.name()), "'");
    for (AttributeProto& attribute : *function.mutable_attribute_proto()) {
      QUOTIENT_RETURN_IF_ERROR(VisitAttribute(attribute, owner, visit));
    }
  }
  for (::onnx::TrainingInfoProto& training : *model.mutable_training_info()) {
    if (training.has_initialization()) {
      QUOTIENT_RETURN_IF_ERROR(VisitGraph(*training.mutable_initialization(), visit));
    }
    if (training.has_algorithm()) {
      QUOTIENT_RETURN_IF_ERROR(VisitGraph(*training.mutable_algorithm(), visit));
    }
  }
  return absl::OkStatus();
}

}  // namespace quotient::onnx
