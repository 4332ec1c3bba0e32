// Validate checks each invariant of graph.h by a function of its own.

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/model/graph.h"

namespace quotient::model {
namespace {

std::string NodeLabel(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  return absl::StrCat("node ", index, " '", node.name, "' (",
                      node.is_opaque() ? node.opaque->op : node.op, ")");
}

absl::Status Malformed(absl::string_view where, absl::string_view what) {
  return MakeError(Reason::kModelMalformed, absl::StrCat(where, ": ", what));
}

bool InRange(const Graph& graph, ValueId id) { return id.value() < graph.values.size(); }

absl::Status CheckValues(const Graph& graph) {
  absl::flat_hash_set<std::string> names;
  for (const Value& value : graph.values) {
    const std::string where = absl::StrCat("value '", value.name, "'");
    if (value.name.empty()) return Malformed("value", "empty name");
    if (!names.insert(value.name).second) return Malformed(where, "defined twice");
    if (value.producer.valid() && value.producer.value() >= graph.nodes.size()) {
      return Malformed(where, "its producer does not exist");
    }
    if (!value.constant.has_value()) continue;
    if (value.producer.valid()) return Malformed(where, "constant with a producer");
    if (value.type != value.constant->type()) {
      return Malformed(where, "its type is not that of its constant");
    }
    const auto size = Tensor::ByteSize(value.constant->dtype(), value.constant->dims());
    if (!size.has_value() || static_cast<uint64_t>(*size) != value.constant->bytes().size()) {
      return Malformed(where, "its bytes do not fit its dimensions");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckInterface(const Graph& graph) {
  if (graph.inputs.size() != graph.defaults.size()) return Malformed("graph", "defaults");
  for (ValueId id : graph.inputs) {
    if (!InRange(graph, id)) return Malformed("graph", "an input does not exist");
    const Value& value = graph.value(id);
    if (value.producer.valid() || value.constant.has_value()) {
      return Malformed(absl::StrCat("input '", value.name, "'"), "also produced in the graph");
    }
  }
  for (ValueId id : graph.outputs) {
    if (!InRange(graph, id)) return Malformed("graph", "an output does not exist");
  }
  return absl::OkStatus();
}

absl::Status CheckNodeOutputs(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (!id.valid()) continue;
    if (!InRange(graph, id)) return Malformed(NodeLabel(graph, index), "unknown output");
    const Value& value = graph.value(id);
    if (value.producer != NodeId(static_cast<uint32_t>(index)) ||
        value.output_index != static_cast<int>(i)) {
      return Malformed(NodeLabel(graph, index),
                       absl::StrCat("output '", value.name, "' has another producer"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNodeInputs(const Graph& graph, size_t index, const std::vector<bool>& available) {
  for (ValueId id : graph.nodes[index].inputs) {
    if (!id.valid()) continue;
    if (!InRange(graph, id)) return Malformed(NodeLabel(graph, index), "unknown input");
    if (available[id.value()]) continue;
    const Value& value = graph.value(id);
    if (!value.producer.valid()) {
      return Malformed(NodeLabel(graph, index),
                       absl::StrCat("input '", value.name, "' is never produced"));
    }
    return MakeError(Reason::kModelCyclic, absl::StrCat(NodeLabel(graph, index), ": input '",
                                                        value.name, "' is produced only later"));
  }
  return absl::OkStatus();
}

absl::Status CheckNodes(const Graph& graph) {
  std::vector<bool> available(graph.values.size(), false);
  for (ValueId id : graph.inputs) available[id.value()] = true;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].constant.has_value()) available[v] = true;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op.empty() || (node.op == kOpaqueOp) != node.is_opaque()) {
      return Malformed(NodeLabel(graph, n), "operator name and payload disagree");
    }
    QUOTIENT_RETURN_IF_ERROR(CheckNodeInputs(graph, n, available));
    QUOTIENT_RETURN_IF_ERROR(CheckNodeOutputs(graph, n));
    for (ValueId id : node.outputs) {
      if (id.valid()) available[id.value()] = true;
    }
  }
  for (ValueId id : graph.outputs) {
    if (!available[id.value()]) {
      return Malformed(absl::StrCat("output '", graph.value(id).name, "'"), "is never produced");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const Graph& graph) {
  QUOTIENT_RETURN_IF_ERROR(CheckValues(graph));
  QUOTIENT_RETURN_IF_ERROR(CheckInterface(graph));
  return CheckNodes(graph);
}

}  // namespace quotient::model
