#include "core/onnx/coerced_softmax.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/onnx/decode_node.h"
#include "core/ops/infer_graph.h"

namespace quotient::onnx {

using model::Graph;
using model::Node;
using model::ValueId;

namespace {

// Whether the Reshape of the matrix to the input's shape needs allowzero, so that a 0 in the shape
// is a size and does not copy a dimension of the matrix. It does not if a dimension that may be 0
// stands where the matrix has its rows or columns and these are then 0, too, or if only one
// dimension is unknown, because -1 can express that one. The attribute needs opset 14, so it is set
// only if it must be.
bool NeedsZeros(const model::TensorType& type, int64_t axis) {
  int unknown = 0;
  bool misplaced = false;
  for (int i = 0; i < type.rank(); ++i) {
    if (type.dim(i).Is(0)) return true;
    if (type.dim(i).is_number()) continue;
    ++unknown;
    const bool in_place = (i == 0 && axis >= 1) || (i == 1 && axis <= 1);
    misplaced |= !in_place;
  }
  return misplaced && unknown > 1;
}

}  // namespace

CoercedSoftmax AddCoercedSoftmax(Node node, NamePool& names, Graph& graph) {
  CoercedSoftmax coerced;
  coerced.axis = node.attributes.GetInt(kCoercedAxis, 1);
  node.attributes.Erase(kCoercedAxis);

  const ValueId input = node.inputs[0];
  const std::string stem = graph.value(node.outputs[0]).name;
  const auto name = [&](absl::string_view part) {
    return names.Fresh(absl::StrCat(stem, "_", part));
  };
  const ValueId matrix = graph.AddOp("Flatten", {input}, {{"axis", coerced.axis}}, name("matrix"));
  const ValueId normalised = graph.AddOp(node.op, {matrix}, {}, name("normalised"));
  const ValueId shape = graph.AddOp("Shape", {input}, {}, name("shape"));
  Node reshape;
  reshape.op = "Reshape";
  reshape.inputs = {normalised, shape};
  reshape.outputs = node.outputs;
  coerced.last = graph.AddNode(std::move(reshape));
  coerced.node = std::move(node);
  return coerced;
}

Graph ResolveCoercedSoftmax(Graph graph, const std::vector<CoercedSoftmax>& coerced) {
  if (coerced.empty()) return graph;
  // Contradictions are reported by the caller's own inference. Here all Reshapes have allowzero,
  // with which types are always right; the loop below decides which of them need it.
  Graph typed = graph;
  for (const CoercedSoftmax& softmax : coerced) {
    typed.node(softmax.last).attributes.Set("allowzero", int64_t{1});
  }
  if (!ops::InferTypes(typed).ok()) return graph;
  for (const CoercedSoftmax& softmax : coerced) {
    const model::TensorType& type = typed.value(softmax.node.inputs[0]).type;
    if (!type.has_rank()) continue;
    const int64_t axis = softmax.axis < 0 ? softmax.axis + type.rank() : softmax.axis;
    if (axis == type.rank() - 1) {
      graph.node(softmax.last) = softmax.node;
    } else if (NeedsZeros(type, axis)) {
      graph.node(softmax.last).attributes.Set("allowzero", int64_t{1});
    }
  }
  return model::Compact(graph);
}

}  // namespace quotient::onnx
