#include "core/onnx/decode_node.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/attributes.h"
#include "core/onnx/schema.h"
#include "core/onnx/upgrade.h"
#include "core/onnx/upgrade_to_7.h"
#include "core/ops/op.h"

namespace quotient::onnx {
namespace {

using model::Attribute;
using model::AttributeMap;
using model::Node;
using ops::AttributeDef;
using ops::OpDef;
using ops::Parameter;

// Reads all attributes. Returns nullopt if model::Attribute cannot hold one of them.
std::optional<AttributeMap> ReadAttributes(const NodeProto& proto, const WeightSource& source) {
  AttributeMap attributes;
  for (const AttributeProto& attribute : proto.attribute()) {
    std::optional<Attribute> value = ReadAttribute(attribute, source);
    if (!value.has_value()) return std::nullopt;
    attributes.Set(attribute.name(), *std::move(value));
  }
  return attributes;
}

// Converts the node to the names and defaults of the canonical form. Returns false if there is no
// equivalent.
bool Upgrade(int opset, const NodeInputs& inputs, Node& node) {
  const OldForm form{opset, inputs.constants, inputs.types};
  if (opset < kBroadcastingOpset && !SameMeaning(node.op, opset, kBroadcastingOpset) &&
      !UpgradeTo7(form, node)) {
    return false;
  }
  return UpgradeNode(form, node);
}

// Before opset 13 all dimensions from the axis on were normalized together (coerced_softmax.h). If
// the axis is the last one, that is the present meaning.
absl::Status DecodeCoercedSoftmax(int opset, const NodeInputs& inputs, Node& node) {
  if (opset >= 13) return absl::OkStatus();
  const int64_t axis = node.attributes.GetInt("axis", 1);
  const model::TensorType* type = inputs.types.empty() ? nullptr : inputs.types[0];
  const int64_t rank = type != nullptr && type->has_rank() ? type->rank() : -1;
  if (rank >= 0 && (axis < -rank || axis > rank)) {
    return MakeError(Reason::kModelShape,
                     absl::StrCat("axis ", axis, " of a tensor of rank ", rank));
  }
  node.attributes.Erase("axis");
  const bool is_last = axis == -1 || (rank >= 0 && axis == rank - 1);
  if (!is_last) node.attributes.Set(kCoercedAxis, axis);
  return absl::OkStatus();
}

bool HasKind(const Attribute& value, AttributeDef::Kind kind) {
  switch (kind) {
    case AttributeDef::Kind::kInt:
      return std::holds_alternative<int64_t>(value);
    case AttributeDef::Kind::kFloat:
      return std::holds_alternative<double>(value);
    case AttributeDef::Kind::kString:
      return std::holds_alternative<std::string>(value);
    case AttributeDef::Kind::kInts:
      return std::holds_alternative<model::Ints>(value);
    case AttributeDef::Kind::kFloats:
      return std::holds_alternative<model::Floats>(value);
    case AttributeDef::Kind::kTensor:
      return std::holds_alternative<model::Tensor>(value);
  }
  return false;
}

bool HasKind(const Attribute& value, Parameter::Kind kind) {
  switch (kind) {
    case Parameter::Kind::kInts:
      return std::holds_alternative<model::Ints>(value);
    case Parameter::Kind::kFloats:
      return std::holds_alternative<model::Floats>(value);
    case Parameter::Kind::kInt:
      return std::holds_alternative<int64_t>(value);
    case Parameter::Kind::kFloat:
      return std::holds_alternative<double>(value);
  }
  return false;
}

bool IsUnderstood(const OpDef& op, absl::string_view name, const Attribute& value) {
  for (const AttributeDef& def : op.attributes) {
    if (name == def.name) return HasKind(value, def.kind);
  }
  for (const Parameter& parameter : op.parameters) {
    if (name == parameter.attribute) return HasKind(value, parameter.kind);
  }
  return name == kCoercedAxis;
}

bool IsUnderstood(const OpDef& op, const Node& node) {
  for (const auto& [name, value] : node.attributes) {
    if (!IsUnderstood(op, name, value)) return false;
  }
  if (op.max_inputs >= 0 && node.inputs.size() > static_cast<size_t>(op.max_inputs)) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool within = op.max_outputs < 0 || i < static_cast<size_t>(op.max_outputs);
    if (!within && node.outputs[i].valid()) return false;
  }
  return true;
}

// Calls ops::Canonicalize with the remaining inputs.
absl::Status CanonicalizeNode(const NodeInputs& inputs, Node& node) {
  std::vector<const model::Tensor*> constants(node.inputs.size(), nullptr);
  std::vector<const model::TensorType*> types(node.inputs.size(), nullptr);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    constants[i] = inputs.constants[i];
    types[i] = inputs.types[i];
  }
  return ops::Canonicalize(node, constants, types);
}

// If an operator may have any number of outputs (Split), an output that is left out still counts.
bool OmitsOneOfMany(const OpDef& op, const Node& node) {
  return op.max_outputs < 0 && std::any_of(node.outputs.begin(), node.outputs.end(),
                                           [](model::ValueId id) { return !id.valid(); });
}

// Removes trailing inputs or outputs that are left out, because they mean nothing.
void TrimOmitted(std::vector<model::ValueId>& ids) {
  while (!ids.empty() && !ids.back().valid()) ids.pop_back();
}

}  // namespace

absl::StatusOr<std::optional<Node>> DecodeNode(const NodeProto& proto, int opset,
                                               const NodeInputs& inputs,
                                               std::vector<model::ValueId> outputs,
                                               const WeightSource& source) {
  if (ops::FindOp(proto.op_type()) == nullptr && proto.op_type() != "Upsample") return std::nullopt;

  Node node;
  node.op = proto.op_type();
  node.inputs = inputs.ids;
  node.outputs = std::move(outputs);
  std::optional<AttributeMap> attributes = ReadAttributes(proto, source);
  if (!attributes.has_value()) return std::nullopt;
  node.attributes = *std::move(attributes);
  if (node.op == "Softmax" || node.op == "LogSoftmax") {
    QUOTIENT_RETURN_IF_ERROR(DecodeCoercedSoftmax(opset, inputs, node));
  } else if (!Upgrade(opset, inputs, node)) {
    return std::nullopt;
  }
  const OpDef* op = ops::FindOp(node.op);
  if (op == nullptr || OmitsOneOfMany(*op, node)) return std::nullopt;
  TrimOmitted(node.inputs);
  TrimOmitted(node.outputs);
  if (!IsUnderstood(*op, node)) return std::nullopt;
  if (node.attributes.Has(kCoercedAxis)) return node;
  QUOTIENT_RETURN_IF_ERROR(CanonicalizeNode(inputs, node));
  op = ops::FindOp(node.op);
  if (op == nullptr || (op->accepts != nullptr && !op->accepts(node))) return std::nullopt;
  return node;
}

}  // namespace quotient::onnx
