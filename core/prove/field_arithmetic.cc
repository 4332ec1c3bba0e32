#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/ops/op.h"
#include "core/prove/arithmetic.h"
#include "core/prove/operation.h"

namespace quotient::prove {
namespace {

using domain::OpWord;
using Value = FieldArithmetic::Value;
using Operand = FieldArithmetic::Operand;

// An operator in canonical form for the values of its operands.
struct Call {
  model::Node node;
  std::vector<const Value*> inputs;  // Null where one is left out.
  std::vector<model::DType> types;   // Of the inputs.
  model::TensorType type;            // Of the output; static.
};

bool IsIntegerParameter(const ops::OpDef& def, size_t input) {
  using Kind = ops::Parameter::Kind;
  return std::ranges::any_of(def.parameters, [&](const ops::Parameter& parameter) {
    return parameter.input == static_cast<int>(input) &&
           (parameter.kind == Kind::kInts || parameter.kind == Kind::kInt);
  });
}

model::Tensor Integers(const Value& value, const model::TensorType& type) {
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(type.dtype, value.dims, &buffer);
  std::vector<int64_t> integers;
  for (const Element element : value.elements) integers.push_back(ToInteger(element));
  model::Store(type.dtype, buffer, 0, std::span<const int64_t>(integers));
  return tensor;
}

// Sizes that an operand computes, such as the target of a Reshape, become attributes.
absl::StatusOr<Call> CallOf(const OpWord& word, const std::vector<Operand>& operands) {
  std::vector<model::TensorType> types(operands.size());
  std::vector<std::optional<model::Tensor>> parameters(operands.size());
  std::vector<ops::InferInput> inputs(operands.size());
  Call call;
  call.node.op = word.name;
  call.node.attributes = word.attributes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool present = operands[i].value != nullptr;
    call.node.inputs.push_back(present ? model::ValueId(static_cast<uint32_t>(i))
                                       : model::ValueId());
    if (!present) continue;
    types[i] = model::StaticType(operands[i].dtype, operands[i].value->dims);
    if (IsIntegerParameter(*word.def, i)) parameters[i] = Integers(*operands[i].value, types[i]);
    inputs[i] = {&types[i], parameters[i] ? &*parameters[i] : nullptr, nullptr};
  }
  QUOTIENT_RETURN_IF_ERROR(ops::Canonicalize(call.node, inputs));
  std::vector<model::ValueId>& ids = call.node.inputs;
  while (!ids.empty() && !ids.back().valid()) ids.pop_back();
  std::vector<ops::InferInput> left;
  for (const model::ValueId id : ids) {
    call.inputs.push_back(id.valid() ? operands[id.value()].value : nullptr);
    call.types.push_back(id.valid() ? operands[id.value()].dtype : model::DType::kUndefined);
    left.push_back(id.valid() ? inputs[id.value()] : ops::InferInput());
  }
  QUOTIENT_ASSIGN_OR_RETURN(
      ops::InferResult inferred,
      ops::InferNode(*ops::FindOp(call.node.op), {call.node.attributes, left, 1}));
  if (inferred.types.empty() || !inferred.types[0].is_static()) {
    // A Reshape that infers a size next to an empty axis.
    return absl::FailedPreconditionError("a shape is not known");
  }
  call.type = std::move(inferred.types[0]);
  return call;
}

// To floats, every value keeps its own: rounding is not what is looked for here. To other types
// it is a function that is left open.
Value Cast(const Value& value, const model::TensorType& type, Agreement& agreement) {
  if (model::IsFloat(type.dtype)) return value;
  const std::string function = absl::StrCat("Cast to ", model::DTypeName(type.dtype));
  agreement.functions.insert(function);
  Value cast = value;
  for (Element& each : cast.elements) {
    each = Uninterpreted(function, std::span(&each, 1));
    if (type.dtype == model::DType::kBool) each &= 1;
  }
  return cast;
}

}  // namespace

absl::StatusOr<FieldTensor> FieldArithmetic::OfConstant(const model::Tensor& tensor) {
  Value value{tensor.dims(), {}};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const std::optional<Element> element =
        model::IsFloat(tensor.dtype()) || tensor.dtype() == model::DType::kBool
            ? FromFloat(tensor.GetDouble(i))
            : FromInteger(tensor.GetInt(i));
    if (!element) return absl::FailedPreconditionError("a constant is infinite or NaN");
    value.elements.push_back(*element);
  }
  return value;
}

FieldTensor FieldArithmetic::OfInput(const model::TensorType& type, Rng& rng) {
  Value value{type.dims(), {}};
  for (int64_t i = 0; i < type.elements(); ++i) {
    constexpr uint64_t kIntegers = 3;
    const bool is_bool = type.dtype == model::DType::kBool;
    value.elements.push_back(
        rng.Below(model::IsFloat(type.dtype) ? kPrime : (is_bool ? 2 : kIntegers)));
  }
  return value;
}

absl::StatusOr<FieldTensor> FieldArithmetic::OfOperator(const OpWord& word,
                                                        const std::vector<Operand>& operands,
                                                        Agreement& agreement) {
  QUOTIENT_ASSIGN_OR_RETURN(const Call call, CallOf(word, operands));
  if (call.node.op == "Cast") return Cast(*call.inputs[0], call.type, agreement);
  return Evaluate({call.node.op, call.node.attributes, call.inputs, call.type.dims(),
                   agreement.functions, call.types});
}

double FieldArithmetic::Error(const Value& a, const Value& b, const Sensitivity&) {
  return a == b ? 0 : INFINITY;
}

}  // namespace quotient::prove
