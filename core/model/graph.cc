#include "core/model/graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quotient::model {

NodeId Graph::AddNode(Node node) {
  const NodeId id(static_cast<uint32_t>(nodes.size()));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    value(node.outputs[i]).producer = id;
    value(node.outputs[i]).output_index = static_cast<int>(i);
  }
  nodes.push_back(std::move(node));
  return id;
}

ValueId Graph::AddValue(absl::string_view name, TensorType type) {
  const ValueId id(static_cast<uint32_t>(values.size()));
  Value value;
  value.name = std::string(name);
  value.type = std::move(type);
  values.push_back(std::move(value));
  return id;
}

ValueId Graph::AddInput(absl::string_view name, TensorType type) {
  const ValueId id = AddValue(name, std::move(type));
  inputs.push_back(id);
  defaults.emplace_back();
  return id;
}

ValueId Graph::AddConstant(absl::string_view name, Tensor tensor) {
  const ValueId id = AddValue(name, tensor.type());
  value(id).constant = std::move(tensor);
  return id;
}

ValueId Graph::AddOp(absl::string_view op, std::vector<ValueId> op_inputs, AttributeMap attributes,
                     absl::string_view output_name) {
  const std::string name =
      output_name.empty() ? absl::StrCat("v", values.size()) : std::string(output_name);
  const ValueId output = AddValue(name, TensorType());
  Node node;
  node.op = std::string(op);
  node.attributes = std::move(attributes);
  node.inputs = std::move(op_inputs);
  node.outputs = {output};
  AddNode(std::move(node));
  return output;
}

std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId output : graph.outputs) needed[output.value()] = true;
  std::vector<bool> live(graph.nodes.size(), false);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (ValueId output : node.outputs) {
      if (output.valid() && needed[output.value()]) live[n] = true;
    }
    if (!live[n]) continue;
    for (ValueId input : node.inputs) {
      if (input.valid()) needed[input.value()] = true;
    }
  }
  return live;
}

bool IsComputable(const Graph& graph, const Node& node) {
  const auto computable = [&graph](ValueId id) {
    return !id.valid() || IsComputable(graph.value(id).type);
  };
  return !node.is_opaque() && std::all_of(node.inputs.begin(), node.inputs.end(), computable) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), computable);
}

Graph Compact(const Graph& graph) {
  const std::vector<bool> live = LiveNodes(graph);
  std::vector<bool> kept(graph.values.size(), false);
  for (ValueId input : graph.inputs) kept[input.value()] = true;
  for (ValueId output : graph.outputs) kept[output.value()] = true;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    for (ValueId id : graph.nodes[n].inputs) {
      if (id.valid()) kept[id.value()] = true;
    }
    for (ValueId id : graph.nodes[n].outputs) {
      if (id.valid()) kept[id.value()] = true;
    }
  }

  Graph compact;
  compact.name = graph.name;
  std::vector<ValueId> renumbered(graph.values.size());
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (!kept[v]) continue;
    renumbered[v] = compact.AddValue(graph.values[v].name, graph.values[v].type);
    compact.value(renumbered[v]).declared = graph.values[v].declared;
    compact.value(renumbered[v]).constant = graph.values[v].constant;
  }
  const auto renumber = [&renumbered](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id.valid()) id = renumbered[id.value()];
    }
  };
  compact.inputs = graph.inputs;
  compact.outputs = graph.outputs;
  compact.defaults = graph.defaults;
  renumber(compact.inputs);
  renumber(compact.outputs);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    Node node = graph.nodes[n];
    renumber(node.inputs);
    renumber(node.outputs);
    compact.AddNode(std::move(node));
  }
  return compact;
}

Digest GraphDigest(const Graph& graph) {
  Digester digester;
  const auto add = [&digester](const auto&... pieces) {
    digester.Update(absl::StrCat(pieces..., "\n"));
  };
  // Values are identified by position, so that names do not count.
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    const auto& fallback = graph.defaults[i];
    add("input ", graph.inputs[i].value(), " ", value.name, " ", ToString(value.type), " ",
        fallback.has_value() ? fallback->digest().Hex() : "");
  }
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].constant.has_value()) {
      add("const ", v, " ", graph.values[v].constant->digest().Hex());
    }
  }
  for (const Node& node : graph.nodes) {
    add("node ", node.op, ToString(node.attributes));
    if (node.opaque) add("opaque ", node.opaque->proto.size(), ":", node.opaque->proto);
    for (ValueId id : node.inputs) add("in ", id.valid() ? absl::StrCat(id.value()) : "_");
    for (ValueId id : node.outputs) {
      add("out ", id.valid() ? absl::StrCat(id.value(), " ", ToString(graph.value(id).type)) : "_");
    }
  }
  for (ValueId id : graph.outputs) add("output ", id.value(), " ", graph.value(id).name);
  return digester.Finish();
}

}  // namespace quotient::model
