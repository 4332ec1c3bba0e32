// Inspect: describes a model without optimizing it.

#include <nlohmann/json.hpp>

#include "core/base/status_macros.h"
#include "core/onnx/reader.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/optimize.h"

namespace quotient::optimize {
namespace {

using Json = nlohmann::ordered_json;

// Types of the interface are those that the model declares. What it does not declare is inferred.
Json Values(const model::Graph& graph, const std::vector<model::ValueId>& ids) {
  Json values = Json::array();
  for (model::ValueId id : ids) {
    const model::Value& value = graph.value(id);
    const model::TensorType& type = value.declared.has_rank() ? value.declared : value.type;
    values.push_back({{"name", value.name}, {"type", ToString(type)}});
  }
  return values;
}

Json OpaqueOperators(const model::Graph& graph) {
  std::map<std::string, int> counts;
  for (const model::Node& node : graph.nodes) {
    if (node.is_opaque()) ++counts[node.opaque->op];
  }
  return counts;
}

int64_t Parameters(const model::Graph& graph) {
  int64_t elements = 0;
  for (const model::Value& value : graph.values) {
    if (value.constant.has_value()) elements += value.constant->elements();
  }
  return elements;
}

}  // namespace

absl::StatusOr<std::string> Inspect(const ModelFiles& files) {
  QUOTIENT_ASSIGN_OR_RETURN(onnx::Model model,
                            onnx::Read(files.model, files.external_data, onnx::Limits(), nullptr));
  const Json inputs = Values(model.graph, model.graph.inputs);
  std::vector<std::string> objections;
  for (const onnx::ObjectionAt& objection : model.objections) objections.push_back(objection.text);
  // A contradiction between types is one more objection.
  const absl::Status inferred = ops::InferTypes(model.graph);
  if (!inferred.ok()) objections.emplace_back(inferred.message());
  const model::Graph& graph = model.graph;
  const Json json = {{"model", files.name},
                     {"ir_version", model.ir_version},
                     {"opset_imports", model.opset_imports},
                     {"producer", model.producer},
                     {"external_data", model.has_external_data},
                     {"nodes", graph.nodes.size()},
                     {"parameters", Parameters(graph)},
                     {"inputs", inputs},
                     {"outputs", Values(graph, graph.outputs)},
                     {"operators", model.op_counts},
                     {"not_understood", OpaqueOperators(graph)},
                     {"objections", objections}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::optimize
