#include "core/onnx/new_model.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/types.h"

namespace quotient::onnx {
namespace {

constexpr int kIrVersion = 10;

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
    DescribeValue(name, type, proto.add_input());
    skeleton->input_names.push_back(name);
    skeleton->input_types.push_back(type);
  }
  for (const model::ValueId id : graph.outputs) {
    const std::string name = absl::StrCat("out", proto.output_size());
    DescribeValue(name, graph.value(id).type, proto.add_output());
  }
  Model model;
  model.graph = std::move(graph);
  model.ir_version = kIrVersion;
  model.opset = opset;
  model.skeleton = std::move(skeleton);
  return model;
}

}  // namespace quotient::onnx
