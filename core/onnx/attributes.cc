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

}  // namespace quotient::onnx
