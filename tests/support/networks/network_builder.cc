#include "tests/support/networks/network_builder.h"

#include <cmath>
#include <cstring>
#include <limits>

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

::onnx::AttributeProto* AddAttribute(::onnx::NodeProto* node, const std::string& name,
                                     ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

void SetInts(::onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  ::onnx::AttributeProto* attribute = AddAttribute(node, name, ::onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}

void SetInt(::onnx::NodeProto* node, const std::string& name, int64_t value) {
  AddAttribute(node, name, ::onnx::AttributeProto::INT)->set_i(value);
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

// --- Constants

::onnx::TensorProto* NetworkBuilder::Initializer(const std::string& name, int32_t type,
                                                 const std::vector<int64_t>& dims) {
  ::onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (int64_t dim : dims) tensor->add_dims(dim);
  return tensor;
}

// Makes two elements with 24 random bits each from every random number, because VGG-19 has 144
// million elements.
std::string NetworkBuilder::Drawn(const std::string& name, const std::vector<int64_t>& dims,
                                  float low, float high) {
  size_t elements = 1;
  for (int64_t dim : dims) elements *= static_cast<size_t>(dim);
  std::string* raw = Initializer(name, ::onnx::TensorProto::FLOAT, dims)->mutable_raw_data();
  raw->resize(elements * sizeof(float));
  const float step = (high - low) * 0x1.0p-24f;
  const auto set = [&](size_t index, uint64_t bits) {
    const float value = low + step * static_cast<float>(bits >> 40);
    std::memcpy(raw->data() + index * sizeof(float), &value, sizeof(float));
  };
  for (size_t i = 0; i < elements; i += 2) {
    const uint64_t bits = rng_.Next();
    set(i, bits);
    if (i + 1 < elements) set(i + 1, bits << 24);
  }
  return name;
}

std::string NetworkBuilder::Weight(const std::string& name, const std::vector<int64_t>& dims,
                                   int64_t fan_in, double gain) {
  const auto limit = static_cast<float>(std::sqrt(3 * gain / static_cast<double>(fan_in)));
  return Drawn(name, dims, -limit, limit);
}

std::string NetworkBuilder::Bias(const std::string& name, int64_t elements) {
  return Drawn(name, {elements}, -0.1f, 0.1f);
}

std::string NetworkBuilder::Scalar(const std::string& name, float value) {
  Initializer(name, ::onnx::TensorProto::FLOAT, {})->add_float_data(value);
  return name;
}

std::string NetworkBuilder::Ints(const std::string& name, const std::vector<int64_t>& values) {
  ::onnx::TensorProto* tensor =
      Initializer(name, ::onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())});
  for (int64_t value : values) tensor->add_int64_data(value);
  return name;
}

// --- Nodes with weights

std::string NetworkBuilder::Conv(const std::string& x, int64_t in_channels, int64_t out_channels,
                                 Size kernel, const ConvOptions& options) {
  ::onnx::NodeProto* node = Node("Conv", {x});
  const std::string name = node->name();
  const int64_t group_channels = in_channels / options.groups;
  node->add_input(Weight(name + ".weight",
                         {out_channels, group_channels, kernel.height, kernel.width},
                         group_channels * kernel.height * kernel.width, options.gain));
  if (options.bias) node->add_input(Bias(name + ".bias", out_channels));
  const Size pad = options.pad;
  SetInts(node, "kernel_shape", {kernel.height, kernel.width});
  SetInts(node, "strides", {options.stride, options.stride});
  SetInts(node, "pads", {pad.height, pad.width, pad.height, pad.width});
  if (options.groups != 1) SetInt(node, "group", options.groups);
  return node->output(0);
}

std::string NetworkBuilder::Project(const std::string& x, int64_t in, int64_t out, double gain) {
  ::onnx::NodeProto* node = Node("MatMul", {x});
  node->add_input(Weight(node->name() + ".weight", {in, out}, in, gain));
  return node->output(0);
}

std::string NetworkBuilder::Gemm(const std::string& x, int64_t in, int64_t out, double gain) {
  ::onnx::NodeProto* node = Node("Gemm", {x});
  node->add_input(Weight(node->name() + ".weight", {out, in}, in, gain));
  node->add_input(Bias(node->name() + ".bias", out));
  SetInt(node, "transB", 1);
  return node->output(0);
}

std::string NetworkBuilder::AddBias(const std::string& x, int64_t elements) {
  ::onnx::NodeProto* node = Node("Add", {x});
  node->add_input(Bias(node->name() + ".bias", elements));
  return node->output(0);
}

std::string NetworkBuilder::BatchNorm(const std::string& x, int64_t channels) {
  ::onnx::NodeProto* node = Node("BatchNormalization", {x});
  const std::string name = node->name();
  node->add_input(Drawn(name + ".scale", {channels}, 0.8f, 1.2f));
  node->add_input(Bias(name + ".bias", channels));
  node->add_input(Bias(name + ".mean", channels));
  node->add_input(Drawn(name + ".var", {channels}, 0.8f, 1.2f));
  return node->output(0);
}

std::string NetworkBuilder::LayerNorm(const std::string& x, int64_t elements) {
  ::onnx::NodeProto* node = Node("LayerNormalization", {x});
  node->add_input(Drawn(node->name() + ".scale", {elements}, 0.8f, 1.2f));
  node->add_input(Bias(node->name() + ".bias", elements));
  SetInt(node, "axis", -1);
  return node->output(0);
}

// --- Nodes without weights

::onnx::NodeProto* NetworkBuilder::Pool(const std::string& op, const std::string& x, int64_t kernel,
                                        const PoolOptions& options) {
  ::onnx::NodeProto* node = Node(op, {x});
  SetInts(node, "kernel_shape", {kernel, kernel});
  SetInts(node, "strides", {options.stride, options.stride});
  SetInts(node, "pads", {options.pad, options.pad, options.pad, options.pad});
  return node;
}

std::string NetworkBuilder::MaxPool(const std::string& x, int64_t kernel,
                                    const PoolOptions& options) {
  return Pool("MaxPool", x, kernel, options)->output(0);
}

std::string NetworkBuilder::AveragePool(const std::string& x, int64_t kernel,
                                        const PoolOptions& options) {
  ::onnx::NodeProto* node = Pool("AveragePool", x, kernel, options);
  SetInt(node, "count_include_pad", 0);
  return node->output(0);
}

std::string NetworkBuilder::Clip(const std::string& x, float low, float high) {
  ::onnx::NodeProto* node = Node("Clip", {x});
  node->add_input(Scalar(node->name() + ".min", low));
  node->add_input(Scalar(node->name() + ".max", high));
  return node->output(0);
}

std::string NetworkBuilder::Reshape(const std::string& x, const std::vector<int64_t>& shape) {
  ::onnx::NodeProto* node = Node("Reshape", {x});
  node->add_input(Ints(node->name() + ".shape", shape));
  return node->output(0);
}

std::string NetworkBuilder::Transpose(const std::string& x,
                                      const std::vector<int64_t>& permutation) {
  ::onnx::NodeProto* node = Node("Transpose", {x});
  SetInts(node, "perm", permutation);
  return node->output(0);
}

std::string NetworkBuilder::Concat(const std::vector<std::string>& xs, int64_t axis) {
  ::onnx::NodeProto* node = Node("Concat", xs);
  SetInt(node, "axis", axis);
  return node->output(0);
}

std::vector<std::string> NetworkBuilder::Split(const std::string& x, int parts, int64_t axis) {
  ::onnx::NodeProto* node = Node("Split", {x});
  SetInt(node, "axis", axis);
  for (int i = 1; i < parts; ++i) node->add_output(absl::StrCat(node->name(), "_output_", i));
  return {node->output().begin(), node->output().end()};
}

std::string NetworkBuilder::Pad(const std::string& x, const std::vector<int64_t>& pads) {
  ::onnx::NodeProto* node = Node("Pad", {x});
  std::vector<int64_t> both(pads.size(), 0);
  both.insert(both.end(), pads.begin(), pads.end());
  node->add_input(Ints(node->name() + ".pads", both));
  return node->output(0);
}

std::string NetworkBuilder::SliceFrom(const std::string& x, const std::vector<int64_t>& starts) {
  ::onnx::NodeProto* node = Node("Slice", {x});
  node->add_input(Ints(node->name() + ".starts", starts));
  const std::vector<int64_t> ends(starts.size(), std::numeric_limits<int64_t>::max());
  node->add_input(Ints(node->name() + ".ends", ends));
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

}  // namespace quotient::networks
