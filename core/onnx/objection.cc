#include "core/onnx/objection.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/onnx/schema.h"

namespace quotient::onnx {
namespace {

using ::onnx::OpSchema;
using Found = std::optional<std::string>;

Found AgainstCounts(const NodeProto& node, const OpSchema& schema) {
  if (node.input_size() > schema.max_input() || node.input_size() < schema.min_input()) {
    return absl::StrCat("has ", node.input_size(), " inputs, not ", schema.min_input(), " to ",
                        schema.max_input());
  }
  if (node.output_size() > schema.max_output() || node.output_size() < schema.min_output()) {
    return absl::StrCat("has ", node.output_size(), " outputs, not ", schema.min_output(), " to ",
                        schema.max_output());
  }
  for (int i = 0; i < node.input_size(); ++i) {
    const auto* formal = FormalInput(schema, i);
    if (node.input(i).empty() && formal != nullptr && formal->GetOption() != OpSchema::Optional) {
      return absl::StrCat("input ", i, " is missing");
    }
  }
  return std::nullopt;
}

Found AgainstAttribute(const AttributeProto& attribute, const OpSchema& schema) {
  const std::string name = absl::StrCat("attribute '", Escaped(attribute.name()), "' ");
  const auto known = schema.attributes().find(attribute.name());
  if (known == schema.attributes().end()) return absl::StrCat(name, "is none of the operator's");
  if (attribute.has_ref_attr_name()) {
    return absl::StrCat(name, "refers to one of a function, outside of any");
  }
  if (attribute.type() == known->second.type) return std::nullopt;
  return absl::StrCat(name, "is of kind ", static_cast<int>(attribute.type()), ", not ",
                      static_cast<int>(known->second.type));
}

Found AgainstAttributes(const NodeProto& node, const OpSchema& schema) {
  absl::flat_hash_set<absl::string_view> names;
  for (const AttributeProto& attribute : node.attribute()) {
    if (!names.insert(attribute.name()).second) {
      return absl::StrCat("has two attributes '", Escaped(attribute.name()), "'");
    }
    if (Found found = AgainstAttribute(attribute, schema)) return found;
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required && !names.contains(name)) {
      return absl::StrCat("attribute '", name, "' is missing");
    }
  }
  return std::nullopt;
}

Found AgainstBranches(const NodeProto& node) {
  if (node.op_type() != "If") return std::nullopt;
  for (const AttributeProto& branch : node.attribute()) {
    if (!branch.has_g() || branch.g().output_size() == node.output_size()) continue;
    return absl::StrCat("has ", node.output_size(), " outputs, its ", Escaped(branch.name()),
                        " has ", branch.g().output_size());
  }
  return std::nullopt;
}

}  // namespace

Found Objection(const NodeProto& node, int opset) {
  const OpSchema* schema = FindSchema(node.op_type(), opset);
  if (schema == nullptr) {
    return IsDeprecated(node.op_type(), opset)
               ? absl::StrCat("ONNX has deprecated this operator as it is in opset ", opset)
               : absl::StrCat("opset ", opset, " has no such operator");
  }
  if (Found found = AgainstCounts(node, *schema)) return found;
  if (Found found = AgainstAttributes(node, *schema)) return found;
  return AgainstBranches(node);
}

}  // namespace quotient::onnx
