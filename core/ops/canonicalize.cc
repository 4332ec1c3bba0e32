// The part of Canonicalize that is the same for all operators. op.h describes the canonical form.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/ops/op.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::AttributeMap;
using model::Floats;
using model::Ints;
using model::Node;
using model::Tensor;
using model::TensorType;
using model::ValueId;

absl::Status CheckInputCount(const OpDef& op, const Node& node) {
  if (op.max_inputs >= 0 && node.inputs.size() > static_cast<size_t>(op.max_inputs)) {
    return MakeError(Reason::kModelMalformed,
                     absl::StrCat(op.name, " has ", node.inputs.size(), " inputs, at most ",
                                  op.max_inputs, " are possible"));
  }
  for (size_t i = 0; i < static_cast<size_t>(op.min_inputs); ++i) {
    if (i < node.inputs.size() && node.inputs[i].valid()) continue;
    bool is_attribute = false;
    for (const Parameter& parameter : op.parameters) {
      is_attribute |=
          parameter.input == static_cast<int>(i) && node.attributes.Has(parameter.attribute);
    }
    if (!is_attribute) {
      return MakeError(Reason::kModelMalformed,
                       absl::StrCat("input ", i, " of ", op.name, " is missing"));
    }
  }
  return absl::OkStatus();
}

// No operator can use more elements of a parameter; the longest lists are the sizes of the parts of
// a Split. A list becomes attributes and shapes, which take many times the memory of its tensor.
constexpr int64_t kMostParameterElements = 1 << 16;

absl::StatusOr<Ints> ConstantInts(const OpDef& op, const Parameter& parameter,
                                  const Tensor& tensor) {
  const bool is_flag =
      parameter.kind == Parameter::Kind::kInt && tensor.dtype() == model::DType::kBool;
  if ((!model::IsInteger(tensor.dtype()) && !is_flag) || tensor.rank() > 1) {
    return ShapeError("parameter '", parameter.attribute, "' of ", op.name, " is a ",
                      model::ToString(tensor.type()), ", not a list of integers");
  }
  return tensor.AsInts();
}

// Whether `value` represents the tensor's one element exactly.
bool IsExact(const Tensor& tensor, double value) {
  if (!model::IsInteger(tensor.dtype())) return true;
  const Tensor back = [&] {
    NewTensor result(tensor.type());
    model::Store(tensor.dtype(), result.bytes, 0, std::span(&value, 1));
    return result.tensor;
  }();
  return model::SameContent(tensor, back);
}

// The attribute that replaces a parameter's input; nullopt if the input is not known well enough.
absl::StatusOr<std::optional<Attribute>> AsAttribute(const OpDef& op, const Parameter& parameter,
                                                     const InferInput& input) {
  using Kind = Parameter::Kind;
  const bool integral = parameter.kind == Kind::kInts || parameter.kind == Kind::kInt;
  Ints ints;
  if (input.constant != nullptr && input.constant->elements() > kMostParameterElements) {
    return ShapeError("parameter '", parameter.attribute, "' of ", op.name, " has ",
                      input.constant->elements(), " elements");
  }
  if (input.constant != nullptr && !model::IsComputable(input.constant->dtype())) {
    return ShapeError("parameter '", parameter.attribute, "' of ", op.name, " is a ",
                      model::ToString(input.constant->type()));
  }
  if (integral && input.constant != nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(ints, ConstantInts(op, parameter, *input.constant));
  } else if (integral && input.elements != nullptr) {
    const std::optional<Ints> numbers = AllNumbers(*input.elements);
    if (!numbers.has_value()) return std::nullopt;
    ints = *numbers;
  } else if (input.constant == nullptr) {
    return std::nullopt;
  }
  if (parameter.kind == Kind::kInts) return Attribute(ints);
  if (parameter.kind == Kind::kFloats) return Attribute(Floats(input.constant->AsDoubles()));
  const int64_t count = integral ? static_cast<int64_t>(ints.size()) : input.constant->elements();
  if (count != 1) {
    return ShapeError("parameter '", parameter.attribute, "' of ", op.name, " has ", count,
                      " elements instead of one");
  }
  if (parameter.kind == Kind::kInt) return Attribute(ints[0]);
  const double value = input.constant->GetDouble(0);
  if (!IsExact(*input.constant, value)) return std::nullopt;
  return Attribute(value);
}

absl::Status TakeParameters(const OpDef& op, Node& node, std::vector<InferInput>& inputs) {
  for (const Parameter& parameter : op.parameters) {
    const size_t slot = static_cast<size_t>(parameter.input);
    if (slot >= node.inputs.size() || !node.inputs[slot].valid()) continue;
    if (node.attributes.Has(parameter.attribute)) {
      return MakeError(Reason::kModelMalformed,
                       absl::StrCat("'", parameter.attribute, "' of ", op.name,
                                    " is given as input and as attribute"));
    }
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Attribute> attribute,
                              AsAttribute(op, parameter, inputs[slot]));
    if (!attribute.has_value()) continue;
    node.attributes.Set(parameter.attribute, *std::move(attribute));
    node.inputs[slot] = ValueId();
    inputs[slot] = InferInput();
  }
  return absl::OkStatus();
}

// -1 if not known.
int64_t RankOf(std::span<const InferInput> inputs) {
  const TensorType* type = InputAt(inputs, 0).type;
  return type == nullptr || !type->has_rank() ? -1 : type->rank();
}

absl::Status NormalizeAxisAttributes(const OpDef& op, AttributeMap& attributes, int64_t rank) {
  if (rank < 0) return absl::OkStatus();
  for (const char* name : op.axes) {
    const Attribute* attribute = attributes.Find(name);
    if (attribute == nullptr) continue;
    if (const auto* axis = std::get_if<int64_t>(attribute)) {
      QUOTIENT_ASSIGN_OR_RETURN(int64_t normal, NormalizeAxis(*axis, rank));
      attributes.Set(name, normal);
    } else if (const auto* axes = std::get_if<Ints>(attribute)) {
      QUOTIENT_ASSIGN_OR_RETURN(Ints normal, NormalizeAxes(*axes, rank));
      attributes.Set(name, std::move(normal));
    }
  }
  return absl::OkStatus();
}

bool NamesDefaultAxis(const OpDef& op, const char* name, const Attribute& value,
                      const Attribute& fallback, int64_t rank) {
  const auto* axis = std::get_if<int64_t>(&value);
  const auto* other = std::get_if<int64_t>(&fallback);
  if (axis == nullptr || other == nullptr || rank < 0) return false;
  for (const char* axis_name : op.axes) {
    if (absl::string_view(axis_name) == name) return *axis == *other + (*other < 0 ? rank : 0);
  }
  return false;
}

void EraseDefaults(const OpDef& op, AttributeMap& attributes, int64_t rank) {
  for (const AttributeDef& def : op.attributes) {
    const Attribute* value = attributes.Find(def.name);
    if (value == nullptr || !def.default_value.has_value()) continue;
    if (model::SameAttribute(*value, *def.default_value) ||
        NamesDefaultAxis(op, def.name, *value, *def.default_value, rank)) {
      attributes.Erase(def.name);
    }
  }
}

}  // namespace

absl::Status Canonicalize(Node& node, std::span<const InferInput> inputs) {
  const OpDef* op = FindOp(node.op);
  if (op == nullptr) {
    return MakeError(Reason::kInternal, absl::StrCat("no row for operator ", node.op));
  }
  QUOTIENT_RETURN_IF_ERROR(CheckInputCount(*op, node));
  std::vector<InferInput> left(inputs.begin(), inputs.end());
  left.resize(node.inputs.size());
  QUOTIENT_RETURN_IF_ERROR(TakeParameters(*op, node, left));
  const int64_t rank = RankOf(left);
  QUOTIENT_RETURN_IF_ERROR(NormalizeAxisAttributes(*op, node.attributes, rank));
  if (op->canonicalize != nullptr) QUOTIENT_RETURN_IF_ERROR(op->canonicalize(node, left));
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  // The operator's own part may have made it another operator.
  EraseDefaults(*FindOp(node.op), node.attributes, rank);
  return absl::OkStatus();
}

absl::Status Canonicalize(Node& node, std::span<const Tensor* const> constants,
                          std::span<const TensorType* const> input_types) {
  std::vector<InferInput> inputs(node.inputs.size());
  std::vector<std::optional<Elements>> elements(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i < constants.size()) inputs[i].constant = constants[i];
    if (i < input_types.size()) inputs[i].type = input_types[i];
    if (inputs[i].constant == nullptr) continue;
    elements[i] = ElementsOf(*inputs[i].constant);
    if (elements[i].has_value()) inputs[i].elements = &*elements[i];
  }
  return Canonicalize(node, inputs);
}

}  // namespace quotient::ops
