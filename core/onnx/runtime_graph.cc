#include "core/onnx/runtime_graph.h"

#include "core/onnx/attributes.h"
#include "core/onnx/detached_weights.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/proto.h"
#include "core/onnx/schema.h"
#include "core/onnx/weights.h"

namespace quotient::onnx {
namespace {

// All versions of ONNX Runtime with our API know it.
constexpr int kIrVersion = 9;

std::optional<model::AttributeMap> ReadAttributes(const NodeProto& node) {
  const ExternalFiles no_files;
  const Limits limits;
  const WeightSource source{no_files, limits, nullptr};
  model::AttributeMap attributes;
  for (const AttributeProto& proto : node.attribute()) {
    if (proto.type() == AttributeProto::TENSOR &&
        !CheckTensor(proto.t(), /*raw_data=*/"", node.name(), source).ok()) {
      return std::nullopt;
    }
    std::optional<model::Attribute> attribute = ReadAttribute(proto, source);
    if (!attribute.has_value()) return std::nullopt;
    attributes.Set(proto.name(), *std::move(attribute));
  }
  return attributes;
}

int64_t OldestOpset(const std::string& domain, const std::string& op, int64_t opset) {
  const bool is_known = domain.empty() && opset > 0 && opset <= NewestOpset();
  return is_known ? SinceOpset(op, static_cast<int>(opset)) : opset;
}

void AddInput(const std::string& name, const NodeInput& input, GraphProto* graph) {
  if (input.constant.has_value()) {
    TensorProto& tensor = *graph->add_initializer();
    const absl::string_view bytes = BytesOf(*input.constant);
    tensor = TensorHeader(name, *input.constant);
    if (bytes.size() < kLeastDetachedBytes) {
      SetInlineBytes(bytes, &tensor);
    } else {
      WriteExternalReference({.location = name, .length = static_cast<int64_t>(bytes.size())},
                             &tensor);
    }
    return;
  }
  ValueInfoProto& value = *graph->add_input();
  value.set_name(name);
  TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(input.type.dtype));
  type.mutable_shape();
  for (const int64_t dim : input.type.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace

absl::StatusOr<RuntimeGraph> ReadRuntimeGraph(absl::string_view model) {
  ModelProto proto;
  if (!proto.ParseFromArray(model.data(), static_cast<int>(model.size()))) {
    return absl::InvalidArgumentError("the bytes are no model");
  }
  absl::flat_hash_map<std::string, int64_t> opsets;
  for (const auto& import : proto.opset_import()) {
    opsets[std::string(CanonicalDomain(import.domain()))] = import.version();
  }
  RuntimeGraph graph;
  for (const TensorProto& tensor : proto.graph().initializer()) {
    graph.initializers.insert(tensor.name());
  }
  for (const NodeProto& node : proto.graph().node()) {
    const std::string domain(CanonicalDomain(node.domain()));
    graph.nodes.push_back({.name = node.name(),
                           .domain = domain,
                           .op = node.op_type(),
                           .opset = OldestOpset(domain, node.op_type(), opsets[domain]),
                           .attributes = ReadAttributes(node),
                           .inputs = {node.input().begin(), node.input().end()},
                           .outputs = {node.output().begin(), node.output().end()}});
  }
  return graph;
}

std::string WriteRuntimeNode(const RuntimeNode& node,
                             const absl::flat_hash_map<std::string, NodeInput>& inputs) {
  ModelProto model;
  model.set_ir_version(kIrVersion);
  auto& import = *model.add_opset_import();
  import.set_domain(node.domain);
  import.set_version(node.opset);
  GraphProto& graph = *model.mutable_graph();
  graph.set_name("node");
  NodeProto& proto = *graph.add_node();
  proto.set_name(node.name);
  proto.set_domain(node.domain);
  proto.set_op_type(node.op);
  for (const auto& [name, attribute] : *node.attributes) {
    *proto.add_attribute() = WriteAttribute(name, attribute);
  }
  absl::flat_hash_set<std::string> added;
  for (const std::string& name : node.inputs) {
    proto.add_input(name);
    const auto input = inputs.find(name);
    if (input != inputs.end() && added.insert(name).second) AddInput(name, input->second, &graph);
  }
  for (const std::string& name : node.outputs) {
    proto.add_output(name);
    if (!name.empty()) graph.add_output()->set_name(name);
  }
  return model.SerializeAsString();
}

}  // namespace quotient::onnx
