#include "core/onnx/encode_node.h"

#include <utility>
#include <variant>

#include "core/onnx/downgrade.h"
#include "core/onnx/schema.h"
#include "core/ops/op.h"

namespace quotient::onnx {
namespace {

using model::Attribute;
using model::DType;
using model::Graph;
using model::Node;
using model::Tensor;
using model::TensorType;
using ::onnx::OpSchema;
using ops::OpDef;
using ops::Parameter;

std::vector<TensorType> InputTypes(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (model::ValueId id : node.inputs) {
    types.push_back(id.valid() ? graph.value(id).type : TensorType());
  }
  return types;
}

// The element type of a parameter that is written as the input `formal`: that of the first input if
// the schema requires the same, else int64 if the schema allows it, else float.
DType ParameterType(const OpSchema& schema, const OpSchema::FormalParameter& formal,
                    DType data_type) {
  const OpSchema::FormalParameter& data = schema.inputs()[0];
  if (&formal != &data && formal.GetTypeStr() == data.GetTypeStr()) return data_type;
  return TakesType(formal, DType::kInt64) ? DType::kInt64 : DType::kFloat32;
}

// Converts a list to a vector and a single number to a scalar.
std::optional<Tensor> ParameterTensor(const Attribute& attribute, DType dtype) {
  if (!model::IsComputable(dtype)) return std::nullopt;
  std::vector<int64_t> dims;
  model::Ints ints;
  model::Floats floats;
  if (const auto* list = std::get_if<model::Ints>(&attribute)) {
    ints = *list;
    dims.push_back(static_cast<int64_t>(ints.size()));
  } else if (const auto* real_list = std::get_if<model::Floats>(&attribute)) {
    floats = *real_list;
    dims.push_back(static_cast<int64_t>(floats.size()));
  } else if (const auto* number = std::get_if<int64_t>(&attribute)) {
    ints = {*number};
  } else if (const auto* real = std::get_if<double>(&attribute)) {
    floats = {*real};
  } else {
    return std::nullopt;
  }
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(dtype, std::move(dims), &bytes);
  if (!ints.empty()) model::Store(dtype, bytes, 0, std::span<const int64_t>(ints));
  if (!floats.empty()) model::Store(dtype, bytes, 0, std::span<const double>(floats));
  return tensor;
}

class Encoder {
 public:
  Encoder(const Graph& graph, const Node& original, int opset)
      : graph_(graph), original_(original), opset_(opset) {}

  std::optional<EncodedNode> Encode() {
    const OpDef* op = ops::FindOp(original_.op);
    if (op == nullptr) return std::nullopt;
    if (opset_ < kBroadcastingOpset && !SameMeaning(original_.op, opset_, kBroadcastingOpset)) {
      return std::nullopt;
    }
    const std::vector<TensorType> types = InputTypes(graph_, original_);
    Node node = original_;
    if (!DowngradeNode({opset_, types}, node)) return std::nullopt;
    schema_ = FindSchema(node.op, opset_);
    if (schema_ == nullptr) return std::nullopt;
    data_type_ = types.empty() ? DType::kUndefined : types[0].dtype;

    encoded_.op = node.op;
    for (model::ValueId id : node.inputs) encoded_.inputs.push_back({id, std::nullopt, ""});
    for (const auto& [name, value] : node.attributes) {
      if (!PlaceAttribute(*op, name, value)) return std::nullopt;
    }
    FillPlaces();
    while (!encoded_.inputs.empty() && encoded_.inputs.back().omitted()) encoded_.inputs.pop_back();
    if (!FitsSchema()) return std::nullopt;
    return std::move(encoded_);
  }

 private:
  bool PlaceAttribute(const OpDef& op, const std::string& name, const Attribute& value) {
    if (schema_->attributes().contains(name)) {
      encoded_.attributes.Set(name, value);
      return true;
    }
    for (const Parameter& parameter : op.parameters) {
      if (name != parameter.attribute) continue;
      const int input = InputOf(parameter);
      const OpSchema::FormalParameter* formal = FormalInput(*schema_, input);
      if (formal == nullptr) return false;
      std::optional<Tensor> tensor =
          ParameterTensor(value, ParameterType(*schema_, *formal, data_type_));
      if (!tensor.has_value()) return false;
      const auto slot = static_cast<size_t>(input);
      if (encoded_.inputs.size() <= slot) encoded_.inputs.resize(slot + 1);
      encoded_.inputs[slot] = {model::ValueId(), std::move(tensor), name};
      return true;
    }
    return false;
  }

  // The index of the input at this opset. Before opset 11, the scales of Resize were input 1.
  int InputOf(const Parameter& parameter) const {
    return original_.op == "Resize" && opset_ < 11 ? 1 : parameter.input;
  }

  // Adds inputs that are optional now but were required at this opset.
  void FillPlaces() {
    if (encoded_.op == "Gemm" && opset_ < 11) {
      FillPlace(2, "C", ParameterTensor(Attribute(model::Floats{0}), data_type_));
    }
    if (encoded_.op == "Resize" && opset_ >= 11 && opset_ < 13) {
      FillPlace(1, "roi", Tensor::Floats({0}, {}));
      FillPlace(2, "scales", Tensor::Floats({0}, {}));
    }
  }

  void FillPlace(size_t slot, const char* name, std::optional<Tensor> tensor) {
    if (encoded_.inputs.size() <= slot) encoded_.inputs.resize(slot + 1);
    if (encoded_.inputs[slot].omitted()) {
      encoded_.inputs[slot] = {model::ValueId(), std::move(tensor), name};
    }
  }

  bool FitsSchema() const {
    const auto inputs = static_cast<int>(encoded_.inputs.size());
    const auto outputs = static_cast<int>(original_.outputs.size());
    if (inputs < schema_->min_input() || inputs > schema_->max_input() ||
        outputs < schema_->min_output() || outputs > schema_->max_output()) {
      return false;
    }
    for (int i = 0; i < inputs; ++i) {
      if (!InputFits(encoded_.inputs[i], *FormalInput(*schema_, i))) return false;
    }
    for (int i = 0; i < outputs; ++i) {
      const model::ValueId id = original_.outputs[i];
      if (id.valid() && !TakesType(*FormalOutput(*schema_, i), graph_.value(id).type.dtype)) {
        return false;
      }
    }
    for (const auto& [name, attribute] : schema_->attributes()) {
      if (attribute.required && !encoded_.attributes.Has(name)) return false;
    }
    return true;
  }

  bool InputFits(const EncodedNode::Input& input, const OpSchema::FormalParameter& formal) const {
    if (input.omitted()) return formal.GetOption() == OpSchema::Optional;
    return TakesType(formal, input.constant.has_value() ? input.constant->dtype()
                                                        : graph_.value(input.value).type.dtype);
  }

  const Graph& graph_;
  const Node& original_;
  const int opset_;
  const OpSchema* schema_ = nullptr;
  DType data_type_ = DType::kUndefined;
  EncodedNode encoded_;
};

}  // namespace

std::optional<EncodedNode> EncodeNode(const Graph& graph, const Node& node, int opset) {
  return Encoder(graph, node, opset).Encode();
}

}  // namespace quotient::onnx
