#include "core/onnx/default_attributes.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/onnx/attributes.h"
#include "core/onnx/limits.h"
#include "core/onnx/schema.h"
#include "core/onnx/weights.h"

namespace quotient::onnx {
namespace {

using model::Attribute;
using model::Ints;

// The schema of the node, or of the operator that the runtime has made it of. Null if there is
// none.
const ::onnx::OpSchema* SchemaOf(const RuntimeNode& node) {
  if (node.domain.empty()) {
    const bool is_known = node.opset > 0 && node.opset <= NewestOpset();
    return is_known ? FindSchema(node.op, static_cast<int>(node.opset)) : nullptr;
  }
  absl::string_view op = node.op;
  if (node.domain == "com.microsoft") {
    if (!absl::ConsumePrefix(&op, "Fused")) return nullptr;
  } else if (node.domain != "com.microsoft.nchwc") {
    return nullptr;
  }
  return FindSchema(op, NewestOpset());
}

std::optional<Attribute> DefaultOf(const ::onnx::OpSchema::Attribute& attribute) {
  if (attribute.default_value.type() == AttributeProto::UNDEFINED) return std::nullopt;
  const ExternalFiles no_files;
  const Limits limits;
  return ReadAttribute(attribute.default_value, {no_files, limits, nullptr});
}

bool AreAll(const Attribute& attribute, int64_t value) {
  const Ints* const ints = std::get_if<Ints>(&attribute);
  return ints != nullptr && std::ranges::all_of(*ints, [&](int64_t each) { return each == value; });
}

// Whether an optional attribute that is a list has the value that it has if it is left out.
bool IsDefaultList(absl::string_view op, absl::string_view name, const Attribute& attribute) {
  if (name == "strides" || name == "dilations") return AreAll(attribute, 1);
  if (name == "pads") return AreAll(attribute, 0);
  if (name == "kernel_shape") return true;  // That of the weights.
  if (op != "Transpose" || name != "perm") return false;
  const Ints* const perm = std::get_if<Ints>(&attribute);
  return perm != nullptr && std::ranges::is_sorted(*perm, std::greater());
}

// An axis of the first input, counted from the front.
Attribute FromTheFront(const Attribute& attribute, int rank) {
  const int64_t* const axis = std::get_if<int64_t>(&attribute);
  return axis != nullptr && *axis < 0 && rank >= 0 ? Attribute(*axis + rank) : attribute;
}

}  // namespace

model::AttributeMap WithoutDefaults(const RuntimeNode& node, int rank) {
  const ::onnx::OpSchema* const schema = SchemaOf(node);
  if (schema == nullptr) return *node.attributes;
  model::AttributeMap kept;
  for (const auto& [name, written] : *node.attributes) {
    const auto known = schema->attributes().find(name);
    if (known == schema->attributes().end()) {
      kept.Set(name, written);
      continue;
    }
    // That of OneHot is an axis of its result.
    const bool is_axis = name == "axis" && node.op != "OneHot";
    const auto normal = [&](const Attribute& attribute) {
      return is_axis ? FromTheFront(attribute, rank) : attribute;
    };
    const std::optional<Attribute> otherwise = DefaultOf(known->second);
    const bool is_default =
        otherwise.has_value()
            ? model::SameAttribute(normal(written), normal(*otherwise))
            : !known->second.required && IsDefaultList(schema->Name(), name, written);
    if (!is_default) kept.Set(name, normal(written));
  }
  return kept;
}

}  // namespace quotient::onnx
