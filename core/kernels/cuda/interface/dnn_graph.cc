#include "core/kernels/cuda/interface/dnn_graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace quotient::kernels::cuda {
namespace {

// Numbers are printed with all their digits, because texts identify graphs.

std::string List(const std::vector<int64_t>& numbers) {
  return absl::StrCat("[", absl::StrJoin(numbers, ","), "]");
}

std::string ToString(const DnnTensor& tensor) {
  if (tensor.value.has_value()) return absl::StrFormat("%.9g", *tensor.value);
  return absl::StrCat(tensor.is_virtual ? "~" : "", model::DTypeName(tensor.type),
                      List(tensor.dims), List(tensor.strides));
}

std::string ToString(const DnnNode& node) {
  std::string text = absl::StrCat(static_cast<int>(node.op), ".", static_cast<int>(node.mode), "(",
                                  absl::StrJoin(node.inputs, ","), ")->", node.output);
  for (const auto* list :
       {&node.pads_begin, &node.pads_end, &node.strides, &node.dilations, &node.window}) {
    text += List(*list);
  }
  absl::StrAppendFormat(&text, "%.17g,%.17g,%.17g", node.scale, node.epsilon, node.slope);
  return text;
}

}  // namespace

bool MultipliesFloat32(const DnnGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&graph](const DnnNode& node) {
    const bool multiplies = node.op == DnnOp::kConvolution ||
                            node.op == DnnOp::kTransposedConvolution ||
                            node.op == DnnOp::kProduct || node.op == DnnOp::kAttention;
    return multiplies && graph.tensors[node.inputs[0]].type == model::DType::kFloat32;
  });
}

std::string ToString(const DnnGraph& graph) {
  std::string text = graph.policy == MathPolicy::kStrict32 ? "strict32" : "tf32";
  for (const DnnTensor& tensor : graph.tensors) absl::StrAppend(&text, " ", ToString(tensor));
  for (const DnnNode& node : graph.nodes) absl::StrAppend(&text, "; ", ToString(node));
  return text;
}

}  // namespace quotient::kernels::cuda
