// Pow.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::DType;
using model::Tensor;
using model::TensorType;

using Outputs = absl::StatusOr<std::vector<Tensor>>;

// The exponent may have another type than the base; the result has the base's.
absl::StatusOr<InferResult> InferPow(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kNumeric, DTypeAt(context, 0)));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kNumeric, DTypeAt(context, 1)));
  return InferBroadcast(context, DTypeAt(context, 0));
}

// Exact if the exponent is not negative.
int64_t IntegerPow(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  int64_t power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) power = WrapMul(power, base);
    base = WrapMul(base, base);
  }
  return power;
}

Outputs EvaluatePow(const EvaluateContext& context) {
  if (!model::IsFloat(context.inputs[0]->dtype()) && !model::IsFloat(context.inputs[1]->dtype())) {
    return MapElements<2, int64_t>(context, IntegerPow);
  }
  return MapElements<2, double>(context, [](double x, double y) { return std::pow(x, y); });
}

// ONNX Runtime computes powers of integers in floats, so they are certain only where floats are
// exact.
bool PowIsCertain(const EvaluateContext& context, std::span<const Tensor> outputs) {
  if (model::IsFloat(context.inputs[0]->dtype())) return true;
  const std::vector<double> exponents = context.inputs[1]->AsDoubles();
  const bool are_whole = std::all_of(exponents.begin(), exponents.end(), [](double exponent) {
    return exponent >= 0 && std::trunc(exponent) == exponent;
  });
  if (!are_whole) return false;
  // Compares with the same powers in double, to detect those that wrap.
  const TensorType as_double = model::StaticType(DType::kFloat64, outputs[0].dims());
  const Tensor powers = EvaluateElementwise<double>(
      context.inputs.first(2), as_double, context.threads,
      [](std::span<const std::span<const double>> operands, std::span<double> out) {
        for (size_t i = 0; i < out.size(); ++i) out[i] = std::pow(operands[0][i], operands[1][i]);
      });
  for (int64_t i = 0; i < powers.elements(); ++i) {
    const double power = powers.GetDouble(i);
    if (std::abs(power) > 0x1p53 || power != outputs[0].GetDouble(i)) return false;
  }
  return true;
}

// For an exponent that is one number for all elements.
Interval BoundsOfPow(const BoundsContext& context) {
  const Interval exponent = context.in(1);
  if (!model::IsFloat(context.dtype()) || !exponent.finite() || exponent.low != exponent.high) {
    return AnythingOf(context.dtype());
  }
  const Interval x = context.in(0);
  const double e = exponent.low;
  const bool whole = std::floor(e) == e;
  if (e < 0 ? !x.positive() : !x.nonnegative() && !whole) {
    // The sign of an even power is certain all the same.
    Interval all;
    if (whole && std::fmod(e, 2) == 0) all.low = 0;
    return all;
  }
  const double at_low = std::pow(x.low, e);
  const double at_high = std::pow(x.high, e);
  Interval power{std::min(at_low, at_high), std::max(at_low, at_high), x.may_be_nan};
  if (e > 0 && std::fmod(e, 2) == 0 && x.contains(0)) power.low = 0;
  return InType(context.dtype(), power, kFunctionSlack);
}

bool PowIsAtPole(std::span<const Tensor* const> inputs) {
  const auto is_negative = [](double value) { return value < 0; };
  return std::ranges::any_of(inputs[1]->AsDoubles(), is_negative) && HasZeroAt<0>(inputs);
}

}  // namespace

std::span<const OpDef> PowerOps() {
  static const auto& rows = *[] {
    OpDef row = Fusing(Fusion::kChain, PairRow("Pow", 7, InferPow, EvaluatePow, false));
    row.numerics = {.bounds = BoundsOfPow, .singular_at_zero = true, .is_at_pole = PowIsAtPole};
    row.is_certain = PowIsCertain;
    return new std::vector<OpDef>{row};
  }();
  return rows;
}

}  // namespace quotient::ops
