#include "core/onnx/new_model.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {
namespace {

constexpr int kIrVersion = 10;

void Describe(const std::string& name, const model::TensorType& type, ValueInfoProto* info) {
  info->set_name(name);
  auto& tensor = *info->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type.dtype));
  tensor.mutable_shape();
  for (const int64_t dim : type.dims()) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace

Model NewModel(model::Graph graph, int opset) {
  auto skeleton = std::make_shared<Skeleton>();
  skeleton->opset = opset;
  skeleton->proto.set_ir_version(kIrVersion);
  skeleton->proto.add_opset_import()->set_version(opset);
  GraphProto& proto = *skeleton->proto.mutable_graph();
  proto.set_name("graph");
  for (const model::ValueId id : graph.inputs) {
    const model::TensorType& type = graph.value(id).type;
    const std::string name = absl::StrCat("in", skeleton->input_names.size());
    Describe(name, type, proto.add_input());
    skeleton->input_names.push_back(name);
    skeleton->input_types.push_back(type);
  }
  for (const model::ValueId id : graph.outputs) {
    const std::string name = absl::StrCat("out", proto.output_size());
    Describe(name, graph.value(id).type, proto.add_output());
  }
  Model model;
  model.graph = std::move(graph);
  model.ir_version = kIrVersion;
  model.opset = opset;
  model.skeleton = std::move(skeleton);
  return model;
}

}  // namespace quotient::onnx
