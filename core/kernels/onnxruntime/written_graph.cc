#include "core/kernels/onnxruntime/written_graph.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/onnx/new_model.h"
#include "core/onnx/writer.h"

namespace quotient::kernels::onnxruntime {
namespace {

// The opset that graphs are written in: every ONNX Runtime that we accept reads it. Operators that
// need a newer one raise it, at most to kHighestOpset.
constexpr int kOpset = 20;
constexpr int kHighestOpset = 24;

}  // namespace

absl::StatusOr<WrittenGraph> WriteGraph(const model::Graph& graph) {
  if (std::ranges::any_of(graph.nodes, &model::Node::is_opaque)) {
    return absl::UnimplementedError("the graph has nodes that are not understood");
  }
  const onnx::Model model = onnx::NewModel(graph, kOpset);
  QUOTIENT_ASSIGN_OR_RETURN(
      onnx::WrittenModel bytes,
      onnx::Write(model, model.graph, {.max_opset = kHighestOpset, .refer_to_weights = true}));
  const auto owner = std::make_shared<const onnx::WrittenModel>(std::move(bytes));
  WrittenGraph written{
      .file = {.model = owner->bytes, .external_data = owner->weights, .owner = owner}};
  for (const model::ValueId id : graph.inputs) {
    const std::string name = absl::StrCat("in", written.values.inputs.size());
    written.values.inputs.push_back({id, name, graph.value(id).type});
  }
  for (const model::ValueId id : graph.outputs) {
    const std::string name = absl::StrCat("out", written.values.outputs.size());
    written.values.outputs.push_back({id, name, graph.value(id).type});
  }
  return written;
}

}  // namespace quotient::kernels::onnxruntime
