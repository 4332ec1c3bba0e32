// Operators that compute element by element.

#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/prove/families.h"

namespace quotient::prove {
namespace {

// f(operation, elements of all inputs), where nullopt means that there is no value.
template <typename Function>
absl::StatusOr<FieldTensor> Map(const Operation& operation, const Function& function) {
  bool has_values = true;
  std::vector<Element> arguments(operation.inputs.size());
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      arguments[i] = Broadcast(operation.input(i), index);
    }
    const std::optional<Element> value = function(arguments);
    has_values &= value.has_value();
    return value.value_or(0);
  });
  if (!has_values) return NoValue(operation);
  return result;
}

using Arguments = std::vector<Element>;

absl::StatusOr<FieldTensor> EvaluateAdd(const Operation& operation) {
  return Map(operation, [](const Arguments& x) { return std::optional(Add(x[0], x[1])); });
}
absl::StatusOr<FieldTensor> EvaluateSub(const Operation& operation) {
  return Map(operation, [](const Arguments& x) { return std::optional(Subtract(x[0], x[1])); });
}
absl::StatusOr<FieldTensor> EvaluateMul(const Operation& operation) {
  return Map(operation, [](const Arguments& x) { return std::optional(Multiply(x[0], x[1])); });
}
absl::StatusOr<FieldTensor> EvaluateDiv(const Operation& operation) {
  return Map(operation, [](const Arguments& x) {
    const std::optional<Element> inverse = Inverse(x[1]);
    return inverse ? std::optional(Multiply(x[0], *inverse)) : std::nullopt;
  });
}
absl::StatusOr<FieldTensor> EvaluateNeg(const Operation& operation) {
  return Map(operation, [](const Arguments& x) { return std::optional(Subtract(0, x[0])); });
}
absl::StatusOr<FieldTensor> EvaluateReciprocal(const Operation& operation) {
  return Map(operation, [](const Arguments& x) { return Inverse(x[0]); });
}
absl::StatusOr<FieldTensor> EvaluateNot(const Operation& operation) {
  return Map(operation, [](const Arguments& x) { return std::optional(Subtract(1, x[0])); });
}
absl::StatusOr<FieldTensor> EvaluateOr(const Operation& operation) {
  return Map(operation, [](const Arguments& x) {
    return std::optional(Subtract(Add(x[0], x[1]), Multiply(x[0], x[1])));
  });
}
// The condition is 0 or 1.
absl::StatusOr<FieldTensor> EvaluateWhere(const Operation& operation) {
  return Map(operation, [](const Arguments& x) { return std::optional(x[0] != 0 ? x[1] : x[2]); });
}
absl::StatusOr<FieldTensor> EvaluateSum(const Operation& operation) {
  return Map(operation, [](const Arguments& x) {
    Element sum = 0;
    for (const Element each : x) sum = Add(sum, each);
    return std::optional(sum);
  });
}

// Small integer exponents; others are a function of both operands.
absl::StatusOr<FieldTensor> EvaluatePow(const Operation& operation) {
  return Map(operation, [&](const Arguments& x) -> std::optional<Element> {
    constexpr int64_t kLargest = 8;
    const int64_t exponent = ToInteger(x[1]);
    if (exponent >= 0 && exponent <= kLargest) return Power(x[0], static_cast<uint64_t>(exponent));
    if (exponent < 0 && exponent >= -kLargest) {
      return Inverse(Power(x[0], static_cast<uint64_t>(-exponent)));
    }
    const Element half = *FromFloat(0.5);
    if (x[1] != half && x[1] != Subtract(0, half)) return Open(operation, "Pow", x);
    const Element root = Open(operation, "Sqrt", std::array{x[0]});
    return x[1] == half ? root : Inverse(root);
  });
}

// x Sigmoid(x)
absl::StatusOr<FieldTensor> EvaluateSwish(const Operation& operation) {
  const std::optional<Element> alpha = FloatAttribute(operation.attributes, "alpha", 1);
  return Map(operation, [&](const Arguments& x) -> std::optional<Element> {
    if (!alpha) return std::nullopt;
    return Multiply(x[0], Open(operation, "Sigmoid", std::array{Multiply(*alpha, x[0])}));
  });
}

absl::StatusOr<FieldTensor> EvaluateMax(const Operation& operation) {
  return Map(operation, [&](const Arguments& x) { return std::optional(Largest(operation, x)); });
}
absl::StatusOr<FieldTensor> EvaluateMin(const Operation& operation) {
  return Map(operation, [&](const Arguments& x) { return std::optional(Smallest(operation, x)); });
}
absl::StatusOr<FieldTensor> EvaluateRelu(const Operation& operation) {
  return Map(operation, [&](const Arguments& x) {
    return std::optional(Largest(operation, std::array{x[0], Element{0}}));
  });
}
// Max(x, lower), then Min with the upper bound, as far as they are there.
absl::StatusOr<FieldTensor> EvaluateClip(const Operation& operation) {
  std::optional<Element> bounds[2];
  constexpr absl::string_view kNames[] = {"min", "max"};
  for (int i = 0; i < 2; ++i) {
    if (!operation.attributes.Has(kNames[i])) continue;
    bounds[i] = FloatAttribute(operation.attributes, kNames[i], 0);
    if (!bounds[i]) return NoValue(operation);
  }
  return Map(operation, [&](const Arguments& x) {
    Element value = x[0];
    if (bounds[0]) value = Largest(operation, std::array{value, *bounds[0]});
    if (bounds[1]) value = Smallest(operation, std::array{value, *bounds[1]});
    return std::optional(value);
  });
}

// A function of which nothing is used. The attributes belong to it.
absl::StatusOr<FieldTensor> EvaluateOpen(const Operation& operation) {
  std::string function = operation.name;
  if (!operation.attributes.empty()) absl::StrAppend(&function, ToString(operation.attributes));
  return Map(operation,
             [&](const Arguments& x) { return std::optional(Open(operation, function, x)); });
}

// The same with a result of 0 or 1.
absl::StatusOr<FieldTensor> EvaluateOpenPredicate(const Operation& operation) {
  return Map(operation, [&](const Arguments& x) {
    return std::optional(Open(operation, operation.name, x) & 1);
  });
}

// The scale or zero point (an input that may be left out) of the element at an index.
Element StepAt(const Operation& operation, size_t input, const Ints& index, Element otherwise) {
  if (!operation.has(input)) return otherwise;
  const FieldTensor& steps = operation.input(input);
  if (steps.elements.size() == 1) return steps.elements[0];
  return steps.elements[static_cast<size_t>(
      index[static_cast<size_t>(operation.attributes.GetInt("axis", 1))])];
}

// Rounds x / scale, beside the zero point, in a way that is left open.
absl::StatusOr<FieldTensor> EvaluateQuantizeLinear(const Operation& operation) {
  bool has_values = true;
  FieldTensor result = Filled(operation.dims, [&](const Ints& index) -> Element {
    const std::optional<Element> inverse = Inverse(StepAt(operation, 1, index, 1));
    has_values &= inverse.has_value();
    const Element steps = Multiply(Broadcast(operation.input(0), index), inverse.value_or(0));
    return Open(operation, operation.name, std::array{steps, StepAt(operation, 2, index, 0)});
  });
  if (!has_values) return NoValue(operation);
  return result;
}

// (x - zero point) scale
absl::StatusOr<FieldTensor> EvaluateDequantizeLinear(const Operation& operation) {
  return Filled(operation.dims, [&](const Ints& index) {
    const Element offset =
        Subtract(Broadcast(operation.input(0), index), StepAt(operation, 2, index, 0));
    return Multiply(offset, StepAt(operation, 1, index, 1));
  });
}

}  // namespace

std::span<const Definition> ElementwiseDefinitions() {
  static constexpr Definition kDefinitions[] = {
      {"Add", EvaluateAdd},
      {"Sub", EvaluateSub},
      {"Mul", EvaluateMul},
      {"And", EvaluateMul},
      {"Div", EvaluateDiv},
      {"Neg", EvaluateNeg},
      {"Reciprocal", EvaluateReciprocal},
      {"Not", EvaluateNot},
      {"Or", EvaluateOr},
      {"Where", EvaluateWhere},
      {"Sum", EvaluateSum},
      {"Pow", EvaluatePow},
      {"Swish", EvaluateSwish},
      {"Max", EvaluateMax},
      {"Min", EvaluateMin},
      {"Relu", EvaluateRelu},
      {"Clip", EvaluateClip},
      {"QuantizeLinear", EvaluateQuantizeLinear},
      {"DequantizeLinear", EvaluateDequantizeLinear},
      {"Abs", EvaluateOpen},
      {"Ceil", EvaluateOpen},
      {"Cos", EvaluateOpen},
      {"Elu", EvaluateOpen},
      {"Equal", EvaluateOpenPredicate},
      {"Erf", EvaluateOpen},
      {"Exp", EvaluateOpen},
      {"Floor", EvaluateOpen},
      {"Gelu", EvaluateOpen},
      {"Greater", EvaluateOpenPredicate},
      {"HardSigmoid", EvaluateOpen},
      {"HardSwish", EvaluateOpen},
      {"IsNaN", EvaluateOpenPredicate},
      {"LeakyRelu", EvaluateOpen},
      {"Less", EvaluateOpenPredicate},
      {"Log", EvaluateOpen},
      {"PRelu", EvaluateOpen},
      {"Sigmoid", EvaluateOpen},
      {"Sin", EvaluateOpen},
      {"Softplus", EvaluateOpen},
      {"Sqrt", EvaluateOpen},
      {"Tanh", EvaluateOpen},
  };
  return kDefinitions;
}

}  // namespace quotient::prove
