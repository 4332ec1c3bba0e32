#include "tests/core/onnx/onnx_text.h"

#include <onnx/defs/parser.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/eval/evaluator.h"
#include "core/ops/infer_graph.h"

namespace quotient::testing {
namespace {

[[noreturn]] void Die(absl::string_view what) {
  std::cerr << what << "\n";
  std::abort();
}

// Small numbers of both signs, none of them special.
model::Tensor Ramp(const model::TensorType& type) {
  std::span<std::byte> bytes;
  model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &bytes);
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25 * static_cast<double>(i % 23) - 2.6;
  model::Store(type.dtype, bytes, 0, values);
  return tensor;
}

}  // namespace

::onnx::ModelProto ModelFromText(absl::string_view text) {
  ::onnx::ModelProto model;
  const std::string copy(text);
  ::onnx::OnnxParser parser(copy.c_str());
  const ::onnx::Common::Status status = parser.Parse(model);
  if (!status.IsOK()) Die(absl::StrCat("ModelFromText: ", status.ErrorMessage(), "\n", text));
  return model;
}

::onnx::ModelProto ModelAtOpset(int opset, absl::string_view graph_text) {
  return ModelFromText(
      absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, "]>\n", graph_text));
}

absl::StatusOr<onnx::Model> ReadProto(const ::onnx::ModelProto& proto,
                                      const std::map<std::string, std::string>& files) {
  struct Kept {
    std::string bytes;
    std::map<std::string, std::string> files;
  };
  const auto kept = std::make_shared<Kept>(Kept{proto.SerializeAsString(), files});
  std::map<std::string, absl::string_view> views;
  for (const auto& [name, bytes] : kept->files) views[name] = bytes;
  return onnx::Read(kept->bytes, views, onnx::Limits(), kept);
}

::onnx::ModelProto ParseBytes(absl::string_view bytes) {
  ::onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) Die("no model");
  return model;
}

::onnx::ModelProto RoundTrip(const ::onnx::ModelProto& proto, const onnx::WriteOptions& options) {
  absl::StatusOr<onnx::Model> model = ReadProto(proto);
  if (!model.ok()) Die(absl::StrCat("RoundTrip: ", model.status().ToString()));
  const absl::Status inferred = ops::InferTypes(model->graph);
  if (!inferred.ok()) Die(absl::StrCat("RoundTrip: ", inferred.ToString()));
  const auto written = onnx::Write(*model, model->graph, options);
  if (!written.ok()) Die(absl::StrCat("RoundTrip: ", written.status().ToString()));
  return ParseBytes(written->bytes);
}

absl::StatusOr<::onnx::ModelProto> WriteChanged(
    const ::onnx::ModelProto& before, const std::function<void(model::Graph& graph)>& change,
    const onnx::WriteOptions& options) {
  QUOTIENT_ASSIGN_OR_RETURN(onnx::Model model, ReadProto(before));
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(model.graph));
  model::Graph graph = model.graph;
  change(graph);
  graph = model::Compact(graph);
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(graph));
  QUOTIENT_RETURN_IF_ERROR(model::Validate(graph));
  QUOTIENT_ASSIGN_OR_RETURN(const onnx::WrittenModel written, onnx::Write(model, graph, options));
  return ParseBytes(written.bytes);
}

std::string OpsOf(const ::onnx::ModelProto& proto) {
  return absl::StrJoin(proto.graph().node(), ",", [](std::string* out, const auto& node) {
    absl::StrAppend(out, node.op_type());
  });
}

std::string OpsOf(const model::Graph& graph) {
  return absl::StrJoin(graph.nodes, ",", [](std::string* out, const model::Node& node) {
    absl::StrAppend(out, node.is_opaque() ? absl::StrCat("Opaque:", node.opaque->op) : node.op);
  });
}

absl::StatusOr<std::vector<model::Tensor>> RunOnRamp(model::Graph graph) {
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(graph));
  eval::ValueMap inputs;
  for (model::ValueId input : graph.inputs) {
    if (!graph.value(input).type.is_static()) return absl::InvalidArgumentError("dynamic input");
    inputs.emplace(input, Ramp(graph.value(input).type));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap values,
                            eval::Evaluate(graph, inputs, graph.outputs, /*threads=*/1));
  std::vector<model::Tensor> outputs;
  for (model::ValueId output : graph.outputs) outputs.push_back(values.at(output));
  return outputs;
}

}  // namespace quotient::testing
