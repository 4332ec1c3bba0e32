// Operators whose results are elements of their inputs, or constants beside them; and counts.

#include <cmath>
#include <variant>

#include "core/domain/transfer.h"

namespace quotient::domain {
namespace {

Interval Same(const Call& call) { return call.in(0); }

// Of the inputs [first, last).
Interval HullOf(const Call& call, size_t first, size_t last) {
  Interval hull = call.in(first);
  for (size_t i = first + 1; i < last; ++i) hull = Hull(hull, call.in(i));
  return hull;
}
Interval AnyInput(const Call& call) { return HullOf(call, 0, call.inputs.size()); }
Interval WhereOf(const Call& call) { return HullOf(call, 1, 3); }

Interval OrZero(const Call& call) { return Hull(call.in(0), {0, 0, false}); }

Interval PadOf(const Call& call) {
  if (call.inputs.size() > 1) return AnythingOf(call.dtype());
  const double border = call.attributes.GetFloat("constant_value", 0);
  return Hull(call.in(0), {border, border, std::isnan(border)});
}

Interval ScatterOf(const Call& call) {
  if (call.attributes.GetString("reduction", "none") != "none") return AnythingOf(call.dtype());
  return Hull(call.in(0), call.in(2));
}

Interval ResizeOf(const Call& call) {
  const double outside = call.attributes.GetFloat("extrapolation_value", 0);
  const Interval x = call.in(0);
  // Weights of neighbours add up to 1 up to rounding; an infinite one times 0 is NaN.
  const Interval mixed{x.low, x.high, x.may_be_nan || !x.bounded()};
  return InType(call.dtype(), Hull(mixed, {outside, outside, std::isnan(outside)}), kFunctionSlack);
}

Interval FilledOf(const Call& call) {
  const model::Attribute* value = call.attributes.Find("value");
  if (value == nullptr) return {0, 0, false};
  const auto* tensor = std::get_if<model::Tensor>(value);
  return tensor == nullptr ? AnythingOf(call.dtype()) : FactsOfConstant(*tensor).values;
}

// Numbers of elements are not negative.
Interval CountOf(const Call& call) { return {0, AnythingOf(call.dtype()).high, false}; }

}  // namespace

std::span<const TransferRow> ChoosingTransfers() {
  static constexpr TransferRow kRows[] = {
      {"Identity", Same},       {"Dropout", Same},    {"Transpose", Same},
      {"Reshape", Same},        {"Flatten", Same},    {"Squeeze", Same},
      {"Unsqueeze", Same},      {"Expand", Same},     {"Tile", Same},
      {"Slice", Same},          {"Split", Same},      {"Gather", Same},
      {"GatherElements", Same}, {"GatherND", Same},   {"Where", WhereOf},
      {"Concat", AnyInput},     {"Trilu", OrZero},    {"Pad", PadOf},
      {"ScatterND", ScatterOf}, {"Resize", ResizeOf}, {"ConstantOfShape", FilledOf},
      {"Shape", CountOf},       {"Size", CountOf},    {"ArgMax", CountOf},
      {"ArgMin", CountOf},
  };
  return kRows;
}

}  // namespace quotient::domain
