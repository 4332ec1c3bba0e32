#include "core/onnx/attributes.h"

#include <string>
#include <type_traits>
#include <variant>

namespace quotient::onnx {

using model::Attribute;

std::optional<Attribute> ReadAttribute(const AttributeProto& attribute,
                                       const WeightSource& source) {
  if (attribute.has_ref_attr_name()) return std::nullopt;
  switch (attribute.type()) {
    case AttributeProto::INT:
      return Attribute(attribute.i());
    case AttributeProto::FLOAT:
      return Attribute(static_cast<double>(attribute.f()));
    case AttributeProto::STRING:
      return Attribute(attribute.s());
    case AttributeProto::INTS:
      return Attribute(model::Ints(attribute.ints().begin(), attribute.ints().end()));
    case AttributeProto::FLOATS:
      return Attribute(model::Floats(attribute.floats().begin(), attribute.floats().end()));
    case AttributeProto::STRINGS:
      return Attribute(model::Strings(attribute.strings().begin(), attribute.strings().end()));
    case AttributeProto::TENSOR:
      if (!IsRepresentable(attribute.t())) return std::nullopt;
      return Attribute(ToTensor(attribute.t(), /*raw_data=*/"", source));
    default:
      return std::nullopt;
  }
}

AttributeProto WriteAttribute(absl::string_view name, const Attribute& attribute) {
  AttributeProto proto;
  proto.set_name(std::string(name));
  std::visit(
      [&proto](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          proto.set_type(AttributeProto::INT);
          proto.set_i(value);
        } else if constexpr (std::is_same_v<T, double>) {
          proto.set_type(AttributeProto::FLOAT);
          proto.set_f(static_cast<float>(value));
        } else if constexpr (std::is_same_v<T, std::string>) {
          proto.set_type(AttributeProto::STRING);
          proto.set_s(value);
        } else if constexpr (std::is_same_v<T, model::Ints>) {
          proto.set_type(AttributeProto::INTS);
          for (int64_t element : value) proto.add_ints(element);
        } else if constexpr (std::is_same_v<T, model::Floats>) {
          proto.set_type(AttributeProto::FLOATS);
          for (double element : value) proto.add_floats(static_cast<float>(element));
        } else if constexpr (std::is_same_v<T, model::Strings>) {
          proto.set_type(AttributeProto::STRINGS);
          for (const std::string& element : value) proto.add_strings(element);
        } else {
          proto.set_type(AttributeProto::TENSOR);
          *proto.mutable_t() = TensorHeader("", value);
          proto.mutable_t()->clear_name();
          proto.mutable_t()->set_raw_data(value.bytes().data(), value.bytes().size());
        }
      },
      attribute);
  return proto;
}

std::optional<model::Tensor> ConstantNodeValue(const NodeProto& node, const WeightSource& source) {
  if (node.attribute_size() != 1) return std::nullopt;
  const AttributeProto& proto = node.attribute(0);
  const std::optional<model::Attribute> value = ReadAttribute(proto, source);
  if (!value.has_value()) return std::nullopt;
  if (proto.name() == "value" && std::holds_alternative<model::Tensor>(*value)) {
    return std::get<model::Tensor>(*value);
  }
  if (proto.name() == "value_int" && std::holds_alternative<int64_t>(*value)) {
    return model::Tensor::IntScalar(std::get<int64_t>(*value));
  }
  if (proto.name() == "value_float" && std::holds_alternative<double>(*value)) {
    return model::Tensor::Scalar(static_cast<float>(std::get<double>(*value)));
  }
  if (proto.name() == "value_ints" && std::holds_alternative<model::Ints>(*value)) {
    const auto& ints = std::get<model::Ints>(*value);
    return model::Tensor::Ints({static_cast<int64_t>(ints.size())}, ints);
  }
  if (proto.name() == "value_floats" && std::holds_alternative<model::Floats>(*value)) {
    const std::vector<float> floats(proto.floats().begin(), proto.floats().end());
    return model::Tensor::Floats({static_cast<int64_t>(floats.size())}, floats);
  }
  return std::nullopt;
}

}  // namespace quotient::onnx
