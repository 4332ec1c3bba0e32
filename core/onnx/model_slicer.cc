#include "core/onnx/model_slicer.h"

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/onnx/proto.h"
#include "core/onnx/scopes.h"

namespace quotient::onnx {
namespace {

// The values that the nodes read, those in their subgraphs included, and that are not computed by
// nodes before. Each once, in order of first use. Adds what the nodes compute to `computed`.
std::vector<std::string> ReadFromElsewhere(
    const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
    std::vector<std::string>* computed) {
  std::vector<std::string> read;
  absl::flat_hash_set<std::string> seen = {""};
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) read.push_back(name);
  };
  for (const NodeProto& node : nodes) {
    for (const std::string& input : node.input()) add(input);
    for (const std::string& captured : CapturedNames(node)) add(captured);
    for (const std::string& output : node.output()) {
      if (seen.insert(output).second) computed->push_back(output);
    }
  }
  return read;
}

ValueInfoProto ValueOfType(const std::string& name, const model::TensorType& type) {
  ValueInfoProto value;
  value.set_name(name);
  TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type.dtype));
  tensor.mutable_shape();
  for (const int64_t dim : type.dims()) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  return value;
}

}  // namespace

struct ModelSlicer::Parts {
  ModelProto model;
  absl::flat_hash_map<std::string, const ValueInfoProto*> inputs;
  absl::flat_hash_map<std::string, const TensorProto*> initializers;
};

absl::StatusOr<ModelSlicer> ModelSlicer::Create(absl::string_view model) {
  const auto parts = std::make_shared<Parts>();
  if (!parts->model.ParseFromArray(model.data(), static_cast<int>(model.size()))) {
    return absl::InvalidArgumentError("the bytes are no model");
  }
  const GraphProto& graph = parts->model.graph();
  for (const ValueInfoProto& input : graph.input()) parts->inputs[input.name()] = &input;
  for (const TensorProto& tensor : graph.initializer()) {
    parts->initializers[tensor.name()] = &tensor;
  }
  return ModelSlicer(parts);
}

int ModelSlicer::num_nodes() const { return parts_->model.graph().node_size(); }

absl::StatusOr<ModelSlice> ModelSlicer::Slice(int first, int count, TypeOf type_of) const {
  const ModelProto& whole = parts_->model;
  ModelProto model;
  model.set_ir_version(whole.ir_version());
  *model.mutable_opset_import() = whole.opset_import();
  *model.mutable_functions() = whole.functions();
  GraphProto& graph = *model.mutable_graph();
  graph.set_name(whole.graph().name());
  for (int i = first; i < first + count; ++i) *graph.add_node() = whole.graph().node(i);

  ModelSlice slice;
  for (const std::string& name : ReadFromElsewhere(graph.node(), &slice.computed)) {
    // An initializer may also be an input, whose default it is then. It is not given another value.
    if (const auto found = parts_->initializers.find(name); found != parts_->initializers.end()) {
      *graph.add_initializer() = *found->second;
      slice.initializers.push_back(name);
      continue;
    }
    if (const auto input = parts_->inputs.find(name); input != parts_->inputs.end()) {
      *graph.add_input() = *input->second;
    } else if (const model::TensorType* const type = type_of(name); type != nullptr) {
      *graph.add_input() = ValueOfType(name, *type);
    } else {
      return absl::NotFoundError(absl::StrCat("the type of '", name, "' is not known"));
    }
    slice.inputs.push_back(name);
  }
  for (const auto* names : {&slice.inputs, &slice.initializers, &slice.computed}) {
    for (const std::string& name : *names) graph.add_output()->set_name(name);
  }
  slice.bytes = model.SerializeAsString();
  return slice;
}

}  // namespace quotient::onnx
