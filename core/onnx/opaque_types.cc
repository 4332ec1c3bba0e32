#include "core/onnx/opaque_types.h"

#include <onnx/defs/shape_inference.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/onnx/einsum_shape.h"
#include "core/onnx/limits.h"
#include "core/onnx/schema.h"

namespace quotient::onnx {
namespace {

using model::Dim;
using model::DType;
using model::Opaque;
using model::OpaqueOperand;
using model::Shape;
using model::Tensor;
using model::TensorType;
using ::onnx::TensorShapeProto;

constexpr int kOldestAsked = 7;  // The inference functions of older opsets were not reviewed.
constexpr size_t kMaxNodeBytes = size_t{1} << 16;
constexpr size_t kMaxConstantBytes = size_t{1} << 10;
constexpr size_t kMaxOperands = 64;

// The operators for which ONNX's inference is used, sorted. Left out although ONNX has an
// inference: operators with subgraphs or sequences; Attention, DFT, STFT, Col2Im, CenterCropPad,
// MaxUnpool and others whose inference was not compared with a runtime; MaxRoiPool, whose first
// dimension is wrong.
constexpr absl::string_view kAskedOf[] = {"AveragePool",
                                          "BatchNormalization",
                                          "Bernoulli",
                                          "BitShift",
                                          "BitwiseAnd",
                                          "BitwiseNot",
                                          "BitwiseOr",
                                          "BitwiseXor",
                                          "Compress",
                                          "ConvInteger",
                                          "DeformConv",
                                          "DepthToSpace",
                                          "DequantizeLinear",
                                          "Det",
                                          "Dropout",
                                          "DynamicQuantizeLinear",
                                          "Einsum",
                                          "EyeLike",
                                          "GRU",
                                          "GlobalLpPool",
                                          "GridSample",
                                          "Hardmax",
                                          "LRN",
                                          "LSTM",
                                          "LpNormalization",
                                          "LpPool",
                                          "MatMulInteger",
                                          "MaxPool",
                                          "Multinomial",
                                          "NonMaxSuppression",
                                          "NonZero",
                                          "OneHot",
                                          "QLinearConv",
                                          "QLinearMatMul",
                                          "QuantizeLinear",
                                          "RNN",
                                          "RandomNormal",
                                          "RandomNormalLike",
                                          "RandomUniform",
                                          "RandomUniformLike",
                                          "Resize",
                                          "ReverseSequence",
                                          "RoiAlign",
                                          "Scatter",
                                          "ScatterElements",
                                          "Shrink",
                                          "SpaceToDepth",
                                          "TopK",
                                          "Unique",
                                          "Upsample"};

using Attributes = std::map<std::string, const AttributeProto*>;

// Returns nullopt if the node's attributes do not match the schema.
std::optional<Attributes> CheckedAttributes(const NodeProto& node, const ::onnx::OpSchema& schema) {
  Attributes attributes;
  for (const AttributeProto& attribute : node.attribute()) {
    const auto known = schema.attributes().find(attribute.name());
    if (known == schema.attributes().end() || attribute.has_ref_attr_name() ||
        attribute.type() != known->second.type) {
      return std::nullopt;
    }
    if (!attributes.emplace(attribute.name(), &attribute).second) return std::nullopt;
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required && !attributes.contains(name)) return std::nullopt;
  }
  return attributes;
}

bool FitsSchema(const NodeProto& node, const ::onnx::OpSchema& schema) {
  return node.input_size() >= schema.min_input() && node.input_size() <= schema.max_input() &&
         node.output_size() >= std::max(schema.min_output(), 1) &&
         node.output_size() <= schema.max_output();
}

std::string TextAttribute(const Attributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? "" : found->second->s();
}

// Whether this is a whole number of at most 2^20, so that its product with the longest extent of
// all (2^40, core/onnx/limits.h) fits into the int64 to which ONNX casts. False for NaN.
bool IsWhole(double number) { return std::abs(number) <= 0x1p20 && number == std::floor(number); }

// ONNX multiplies extents by scales in double and ONNX Runtime in float, so only whole numbers are
// certain to give the same result.
bool ScalesAreExact(const Attributes& attributes, std::span<const OpaqueOperand> operands) {
  if (const auto scales = attributes.find("scales"); scales != attributes.end()) {
    const auto& floats = scales->second->floats();
    if (!std::all_of(floats.begin(), floats.end(), IsWhole)) return false;
  }
  for (size_t i = 1; i < operands.size(); ++i) {
    const Tensor* constant = operands[i].constant;
    if (constant == nullptr || !model::IsFloat(constant->dtype())) continue;
    if (constant->bytes().size() > kMaxConstantBytes) return false;
    const std::vector<double> numbers = constant->AsDoubles();
    if (!std::all_of(numbers.begin(), numbers.end(), IsWhole)) return false;
  }
  return true;
}

// Whether ONNX's inference certainly agrees with ONNX Runtime.
bool IsTrusted(const std::string& op, const Attributes& attributes,
               std::span<const OpaqueOperand> operands) {
  if (op == "Resize" || op == "Upsample") {
    const std::string policy = TextAttribute(attributes, "keep_aspect_ratio_policy");
    return TextAttribute(attributes, "coordinate_transformation_mode") != "tf_crop_and_resize" &&
           (policy.empty() || policy == "stretch") && ScalesAreExact(attributes, operands);
  }
  if (op == "NonZero") {
    const TensorType* x = operands[0].type;
    return x != nullptr && x->has_rank() && x->rank() > 0;
  }
  const std::string auto_pad = TextAttribute(attributes, "auto_pad");
  const auto ceil_mode = attributes.find("ceil_mode");
  return (auto_pad.empty() || auto_pad == "NOTSET") &&
         (ceil_mode == attributes.end() || ceil_mode->second->i() == 0);
}

TypeProto ToProto(const TensorType& type) {
  TypeProto proto;
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.has_rank()) return proto;
  TensorShapeProto& shape = *tensor.mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto& out = *shape.add_dim();
    if (dim.is_number()) out.set_dim_value(dim.number());
    if (dim.is_symbol()) out.set_dim_param(dim.symbol());
  }
  return proto;
}

// Returns nullopt if the tensor is not small or its elements are not whole bytes.
std::optional<TensorProto> ToProto(const Tensor& tensor) {
  if (tensor.bytes().size() > kMaxConstantBytes || model::DTypeBits(tensor.dtype()) % 8 != 0) {
    return std::nullopt;
  }
  TensorProto proto;
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
  return proto;
}

class NodeContext final : public ::onnx::InferenceContext {
 public:
  NodeContext(const Attributes& attributes, std::span<const OpaqueOperand> operands, size_t outputs)
      : attributes_(attributes),
        types_(operands.size()),
        constants_(operands.size()),
        elements_(operands.size()),
        outputs_(outputs) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].type != nullptr) types_[i] = ToProto(*operands[i].type);
      if (operands[i].constant != nullptr) constants_[i] = ToProto(*operands[i].constant);
      if (operands[i].elements != nullptr) {
        elements_[i] =
            ToProto(TensorType(DType::kInt64, *operands[i].elements)).tensor_type().shape();
      }
    }
  }

  const AttributeProto* getAttribute(const std::string& name) const override {
    const auto found = attributes_.find(name);
    return found == attributes_.end() ? nullptr : found->second;
  }
  size_t getNumInputs() const override { return types_.size(); }
  const TypeProto* getInputType(size_t index) const override { return At(types_, index); }
  const TensorProto* getInputData(size_t index) const override { return At(constants_, index); }
  const TensorShapeProto* getSymbolicInput(size_t index) const override {
    return At(elements_, index);
  }
  const SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  size_t getNumOutputs() const override { return outputs_.size(); }
  TypeProto* getOutputType(size_t index) override {
    if (index >= outputs_.size()) throw std::out_of_range("output");
    return &outputs_[index];
  }
  ::onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override {
    throw std::invalid_argument("subgraph");
  }

  const std::vector<TypeProto>& outputs() const { return outputs_; }

 private:
  template <typename T>
  static const T* At(const std::vector<std::optional<T>>& values, size_t index) {
    return index < values.size() && values[index].has_value() ? &*values[index] : nullptr;
  }

  const Attributes& attributes_;
  std::vector<std::optional<TypeProto>> types_;
  std::vector<std::optional<TensorProto>> constants_;
  std::vector<std::optional<TensorShapeProto>> elements_;
  std::vector<TypeProto> outputs_;
};

std::set<std::string> SymbolsOf(std::span<const OpaqueOperand> operands) {
  std::set<std::string> symbols;
  const auto add = [&symbols](const Shape& shape) {
    for (const Dim& dim : shape) {
      if (dim.is_symbol()) symbols.insert(dim.symbol());
    }
  };
  for (const OpaqueOperand& operand : operands) {
    if (operand.type != nullptr && operand.type->has_rank()) add(*operand.type->shape);
    if (operand.elements != nullptr) add(*operand.elements);
  }
  return symbols;
}

Dim FromProto(const TensorShapeProto::Dimension& dim, const std::set<std::string>& symbols) {
  if (dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() <= Limits().max_dim) {
    return Dim(dim.dim_value());
  }
  return dim.has_dim_param() && symbols.contains(dim.dim_param()) ? Dim::Symbol(dim.dim_param())
                                                                  : Dim();
}

// Removes the shape, but not the element type, if the shape is beyond the limits.
TensorType Bounded(TensorType type) {
  if (!type.has_rank()) return type;
  const Limits limits;
  std::vector<int64_t> numbers;
  for (const Dim& dim : *type.shape) numbers.push_back(dim.is_number() ? dim.number() : 1);
  const auto bytes = Tensor::ByteSize(type.dtype, numbers);
  const bool fits =
      type.rank() <= limits.max_rank && bytes.has_value() && *bytes <= limits.max_tensor_bytes;
  if (!fits) type.shape.reset();
  return type;
}

TensorType FromProto(const TypeProto& proto, const std::set<std::string>& symbols) {
  TensorType type;
  if (!proto.has_tensor_type()) return type;
  const auto& tensor = proto.tensor_type();
  type.dtype = model::DTypeFromOnnx(tensor.elem_type()).value_or(DType::kUndefined);
  if (tensor.has_shape()) {
    Shape shape;
    for (const auto& dim : tensor.shape().dim()) shape.push_back(FromProto(dim, symbols));
    type.shape = std::move(shape);
  }
  return Bounded(std::move(type));
}

std::vector<TensorType> EinsumTypes(const Attributes& attributes,
                                    std::span<const OpaqueOperand> operands) {
  std::vector<TensorType> types(1);
  std::vector<const Shape*> shapes;
  for (const OpaqueOperand& operand : operands) {
    if (operand.type == nullptr) return types;
    types[0].dtype = operand.type->dtype;
    if (!operand.type->has_rank()) return types;
    shapes.push_back(&*operand.type->shape);
  }
  types[0].shape = EinsumShape(attributes.at("equation")->s(), shapes);
  types[0] = Bounded(std::move(types[0]));
  return types;
}

std::vector<TensorType> AskOnnx(const ::onnx::OpSchema& schema, const Attributes& attributes,
                                std::span<const OpaqueOperand> operands, size_t outputs) {
  std::vector<TensorType> types(outputs);
  NodeContext context(attributes, operands, outputs);
  try {
    schema.GetTypeAndShapeInferenceFunction()(context);
  } catch (const std::exception&) {
    return types;
  }
  const std::set<std::string> symbols = SymbolsOf(operands);
  for (size_t i = 0; i < outputs; ++i) types[i] = FromProto(context.outputs()[i], symbols);
  return types;
}

// A node that was checked against its schema. It is not copyable, because `attributes` points into
// `proto`.
struct CheckedNode {
  explicit CheckedNode(const NodeProto& node) : proto(node) {}
  CheckedNode(const CheckedNode&) = delete;
  CheckedNode& operator=(const CheckedNode&) = delete;

  const NodeProto proto;
  const ::onnx::OpSchema* schema = nullptr;  // Lives as long as the process.
  Attributes attributes;
};

// Returns null if ONNX's inference must not be called for the node.
std::shared_ptr<const CheckedNode> Check(const NodeProto& node, int opset) {
  const ::onnx::OpSchema* schema = FindSchema(node.op_type(), opset);
  if (schema == nullptr || !schema->has_type_and_shape_inference_function() ||
      node.ByteSizeLong() > kMaxNodeBytes || !FitsSchema(node, *schema)) {
    return nullptr;
  }
  auto checked = std::make_shared<CheckedNode>(node);
  std::optional<Attributes> attributes = CheckedAttributes(checked->proto, *schema);
  if (!attributes.has_value()) return nullptr;
  checked->schema = schema;
  checked->attributes = *std::move(attributes);
  return checked;
}

std::vector<TensorType> InferNode(const CheckedNode& node, std::span<const OpaqueOperand> operands,
                                  size_t outputs) {
  const std::string& op = node.proto.op_type();
  if (operands.size() > kMaxOperands || std::ssize(operands) != node.proto.input_size() ||
      outputs != static_cast<size_t>(node.proto.output_size()) ||
      !IsTrusted(op, node.attributes, operands)) {
    return std::vector<TensorType>(outputs);
  }
  if (op == "Einsum") return EinsumTypes(node.attributes, operands);
  return AskOnnx(*node.schema, node.attributes, operands, outputs);
}

}  // namespace

model::OpaqueTypesFn OpaqueTypes(const NodeProto& node, int opset) {
  const bool is_asked =
      std::binary_search(std::begin(kAskedOf), std::end(kAskedOf), node.op_type());
  if (opset < kOldestAsked || !is_asked) return nullptr;
  std::shared_ptr<const CheckedNode> checked = Check(node, opset);
  if (checked == nullptr) return nullptr;
  return [checked = std::move(checked)](const Opaque&, std::span<const OpaqueOperand> operands,
                                        size_t outputs) {
    return InferNode(*checked, operands, outputs);
  };
}

}  // namespace quotient::onnx
