#include "tests/support/networks/network_builder.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace quotient::networks {
namespace {

void SetType(onnx::ValueInfoProto* value, const std::string& name,
             const std::vector<std::string>& dims) {
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  auto* shape = type->mutable_shape();
  for (const std::string& dim : dims) {
    int64_t number;
    if (absl::SimpleAtoi(dim, &number)) {
      shape->add_dim()->set_dim_value(number);
    } else {
      shape->add_dim()->set_dim_param(dim);
    }
  }
}

}  // namespace

NetworkBuilder::NetworkBuilder(const std::string& name, uint64_t seed) : rng_(seed) {
  model_.set_ir_version(8);
  model_.set_producer_name("quotient-networks");
  auto* opset = model_.add_opset_import();
  opset->set_domain("");
  opset->set_version(17);
  model_.mutable_graph()->set_name(name);
}

std::string NetworkBuilder::Input(const std::string& name, const std::vector<std::string>& dims) {
  SetType(model_.mutable_graph()->add_input(), name, dims);
  return name;
}

void NetworkBuilder::Output(const std::string& value, const std::vector<std::string>& dims) {
  SetType(model_.mutable_graph()->add_output(), value, dims);
}

::onnx::NodeProto* NetworkBuilder::Node(const std::string& op,
                                        const std::vector<std::string>& inputs) {
  ::onnx::NodeProto* node = model_.mutable_graph()->add_node();
  const std::string name = absl::StrCat("/", op, "_", nodes_++);
  node->set_name(name);
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(absl::StrCat(name, "_output_0"));
  return node;
}

void NetworkBuilder::SetInts(::onnx::NodeProto* node, const std::string& name,
                             const std::vector<int64_t>& values) {
  ::onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}

void NetworkBuilder::SetInt(::onnx::NodeProto* node, const std::string& name, int64_t value) {
  ::onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}

std::string NetworkBuilder::Weight(const std::string& name, const std::vector<int64_t>& dims,
                                   double low, double high) {
  ::onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  int64_t elements = 1;
  for (int64_t dim : dims) {
    tensor->add_dims(dim);
    elements *= dim;
  }
  std::string* raw = tensor->mutable_raw_data();
  raw->reserve(static_cast<size_t>(elements) * sizeof(float));
  for (int64_t i = 0; i < elements; ++i) {
    const float value = static_cast<float>(rng_.Uniform(low, high));
    raw->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return name;
}

std::string NetworkBuilder::Conv(const std::string& x, int64_t in_channels, int64_t out_channels,
                                 int64_t kernel, const ConvOptions& options) {
  ::onnx::NodeProto* node = Node("Conv", {x});
  const int64_t fan_in = in_channels / options.groups * kernel * kernel;
  const double limit = std::sqrt(6.0 / static_cast<double>(fan_in));
  node->add_input(Weight(absl::StrCat(node->name(), ".weight"),
                         {out_channels, in_channels / options.groups, kernel, kernel}, -limit,
                         limit));
  node->add_input(Weight(absl::StrCat(node->name(), ".bias"), {out_channels}, -0.1, 0.1));
  SetInts(node, "kernel_shape", {kernel, kernel});
  SetInts(node, "strides", {options.stride, options.stride});
  SetInts(node, "pads", {options.pad, options.pad, options.pad, options.pad});
  if (options.groups != 1) SetInt(node, "group", options.groups);
  return node->output(0);
}

std::string NetworkBuilder::BatchNorm(const std::string& x, int64_t channels) {
  ::onnx::NodeProto* node = Node("BatchNormalization", {x});
  const std::string name = node->name();
  node->add_input(Weight(name + ".scale", {channels}, 0.8, 1.2));
  node->add_input(Weight(name + ".bias", {channels}, -0.1, 0.1));
  node->add_input(Weight(name + ".mean", {channels}, -0.1, 0.1));
  node->add_input(Weight(name + ".var", {channels}, 0.8, 1.2));
  return node->output(0);
}

std::string NetworkBuilder::Relu(const std::string& x) { return Node("Relu", {x})->output(0); }

std::string NetworkBuilder::MaxPool(const std::string& x, int64_t kernel, int64_t stride) {
  ::onnx::NodeProto* node = Node("MaxPool", {x});
  SetInts(node, "kernel_shape", {kernel, kernel});
  SetInts(node, "strides", {stride, stride});
  SetInt(node, "ceil_mode", 1);
  return node->output(0);
}

std::string NetworkBuilder::GlobalAveragePool(const std::string& x) {
  return Node("GlobalAveragePool", {x})->output(0);
}

std::string NetworkBuilder::Concat(const std::vector<std::string>& xs, int64_t axis) {
  ::onnx::NodeProto* node = Node("Concat", xs);
  SetInt(node, "axis", axis);
  return node->output(0);
}

std::string NetworkBuilder::Flatten(const std::string& x) {
  ::onnx::NodeProto* node = Node("Flatten", {x});
  SetInt(node, "axis", 1);
  return node->output(0);
}

std::string NetworkBuilder::Softmax(const std::string& x, int64_t axis) {
  ::onnx::NodeProto* node = Node("Softmax", {x});
  SetInt(node, "axis", axis);
  return node->output(0);
}

std::string NetworkBuilder::Add(const std::string& a, const std::string& b) {
  return Node("Add", {a, b})->output(0);
}

}  // namespace quotient::networks
