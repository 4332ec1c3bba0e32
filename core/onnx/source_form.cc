#include "core/onnx/source_form.h"

#include <string>
#include <utility>
#include <vector>

#include "core/onnx/decode_node.h"

namespace quotient::onnx {
namespace {

using model::Graph;
using model::Node;
using model::ValueId;

// The inputs as the reader saw them, but with the present types. Returns nullopt if one is missing.
std::optional<NodeInputs> SourceInputs(const Graph& graph, const Node& node, const NodeProto& proto,
                                       const Skeleton& skeleton) {
  NodeInputs inputs;
  for (int i = 0; i < proto.input_size(); ++i) {
    const auto slot = static_cast<size_t>(i);
    const ValueId id = slot < node.inputs.size() ? node.inputs[slot] : ValueId();
    if (id.valid()) {
      const model::Value& value = graph.value(id);
      inputs.ids.push_back(id);
      inputs.constants.push_back(value.constant.has_value() ? &*value.constant : nullptr);
      inputs.types.push_back(&value.type);
      continue;
    }
    const auto constant = skeleton.constants.find(proto.input(i));
    if (constant == skeleton.constants.end() && !proto.input(i).empty()) return std::nullopt;
    const bool omitted = proto.input(i).empty();
    // Any valid id will do. Decoding turns the constant into an attribute; if not, the node
    // differs.
    inputs.ids.push_back(omitted ? ValueId() : ValueId(0));
    inputs.constants.push_back(omitted ? nullptr : &constant->second.tensor);
    inputs.types.push_back(nullptr);
  }
  return inputs;
}

bool SameOutputs(const Node& node, const NodeProto& proto) {
  if (node.outputs.size() > static_cast<size_t>(proto.output_size())) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid() && proto.output(static_cast<int>(i)).empty()) return false;
  }
  return true;
}

std::vector<ValueId> WithoutTrailingOmitted(std::vector<ValueId> ids) {
  while (!ids.empty() && !ids.back().valid()) ids.pop_back();
  return ids;
}

}  // namespace

std::optional<NodeProto> UnchangedSource(const Graph& graph, const Node& node,
                                         const Skeleton& skeleton) {
  NodeProto proto;
  if (node.source.empty() || !proto.ParseFromString(node.source)) return std::nullopt;
  if (!SameOutputs(node, proto)) return std::nullopt;
  const std::optional<NodeInputs> inputs = SourceInputs(graph, node, proto, skeleton);
  if (!inputs.has_value()) return std::nullopt;

  const auto decoded = DecodeNode(proto, skeleton.opset, *inputs, node.outputs, skeleton.weights());
  if (!decoded.ok() || !decoded->has_value()) return std::nullopt;
  const Node& source = **decoded;
  if (source.op != node.op || !(source.attributes == node.attributes) ||
      WithoutTrailingOmitted(source.inputs) != WithoutTrailingOmitted(node.inputs)) {
    return std::nullopt;
  }
  return proto;
}

}  // namespace quotient::onnx
