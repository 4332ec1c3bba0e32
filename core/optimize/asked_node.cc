#include "core/optimize/asked_node.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/optimize/question.h"

namespace quotient::optimize {
namespace {

using model::Graph;
using model::NodeId;
using model::ValueId;

// Nodes before outputs: a node may be called like another node's output.
NodeId FindNode(const Graph& graph, absl::string_view name) {
  const auto named =
      std::ranges::find_if(graph.nodes, [&](const model::Node& node) { return node.name == name; });
  if (named != graph.nodes.end()) {
    return NodeId(static_cast<uint32_t>(named - graph.nodes.begin()));
  }
  for (const model::Value& value : graph.values) {
    if (value.producer.valid() && value.name == name) return value.producer;
  }
  return NodeId();
}

const model::Value* FindValue(const Graph& graph, absl::string_view name) {
  const auto found = std::ranges::find(graph.values, name, &model::Value::name);
  return found == graph.values.end() ? nullptr : &*found;
}

bool IsLive(const Graph& graph, NodeId node) { return model::LiveNodes(graph)[node.value()]; }

std::vector<std::string> AllNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const model::Node& node : graph.nodes) names.push_back(node.name);
  for (const model::Value& value : graph.values) {
    if (value.producer.valid()) names.push_back(value.name);
  }
  return names;
}

// Why a node of the model as it was read is not in the graph that the search starts from.
std::string WhyRemoved(const Prepared& prepared, NodeId id, const StopCondition& stop) {
  const Graph& graph = prepared.model.graph;
  const model::Node& node = graph.node(id);
  if (!IsLive(graph, id)) return "no output of the model depends on it";
  for (const ValueId output : node.outputs) {
    if (stop.ShouldStop()) break;
    if (!output.valid()) continue;
    const model::Value* const now = FindValue(prepared.graph, graph.value(output).name);
    if (now != nullptr && now->constant.has_value()) {
      return "it was folded before the search: its result is constant";
    }
  }
  if ((node.op == "Identity" || node.op == "Dropout") && !node.inputs.empty()) {
    return absl::StrCat("it was left out before the search: its result is '",
                        graph.value(node.inputs[0]).name, "' itself");
  }
  return "it was folded before the search: what reads its result is constant, or does without it";
}

}  // namespace

AskedNode FindAskedNode(const Prepared& prepared, absl::string_view name,
                        const StopCondition& stop) {
  const NodeId node = FindNode(prepared.graph, name);
  if (node.valid() && IsLive(prepared.graph, node)) return {.node = node};
  const NodeId read = FindNode(prepared.model.graph, name);
  if (read.valid()) return {.was_removed = true, .why = WhyRemoved(prepared, read, stop)};
  const model::Value* const value = FindValue(prepared.model.graph, name);
  if (value != nullptr) {
    return {.why = absl::StrCat("'", name, "' is ",
                                value->constant.has_value() ? "a constant" : "an input",
                                " of the model, and no node")};
  }
  return {.why = absl::StrCat("the model has no node, and no node's output, called '", name, "'",
                              NearNamesText(name, AllNames(prepared.model.graph), stop))};
}

}  // namespace quotient::optimize
