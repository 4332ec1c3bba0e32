#include "core/onnx/coerced_softmax.h"

#include <algorithm>
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

// Whether a dimension is known to be 0. A Reshape to such a shape must take the 0 as a size instead
// of copying a dimension, which allowzero says. That attribute needs opset 14, so it is set only
// where a 0 is known.
bool IsEmpty(const model::TensorType& type) {
  return type.has_rank() && std::any_of(type.shape->begin(), type.shape->end(),
                                        [](const model::Dim& dim) { return dim.Is(0); });
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
  if (IsEmpty(graph.value(input).type)) reshape.attributes.Set("allowzero", int64_t{1});
  reshape.inputs = {normalised, shape};
  reshape.outputs = node.outputs;
  coerced.last = graph.AddNode(std::move(reshape));
  coerced.node = std::move(node);
  return coerced;
}

Graph ResolveCoercedSoftmax(Graph graph, const std::vector<CoercedSoftmax>& coerced) {
  if (coerced.empty()) return graph;
  // Contradictions are for the caller's own inference to report.
  Graph typed = graph;
  if (!ops::InferTypes(typed).ok()) return graph;
  for (const CoercedSoftmax& softmax : coerced) {
    const model::TensorType& type = typed.value(softmax.node.inputs[0]).type;
    if (!type.has_rank()) continue;
    const int64_t axis = softmax.axis < 0 ? softmax.axis + type.rank() : softmax.axis;
    if (axis == type.rank() - 1) graph.node(softmax.last) = softmax.node;
  }
  return model::Compact(graph);
}

}  // namespace quotient::onnx
