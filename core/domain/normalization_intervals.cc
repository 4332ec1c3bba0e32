// Softmax and the normalizations.

#include <cmath>

#include "core/domain/transfer.h"

namespace quotient::domain {
namespace {

using model::DType;

constexpr double kInfinity = Interval::kInfinity;

bool IsLastAxis(const Call& call) {
  if (!call.output.has_rank()) return false;
  const int64_t axis = call.attributes.GetInt("axis", -1);
  return axis == -1 || axis == call.output.rank() - 1;
}

Interval SoftmaxOf(const Call& call) {
  if (!call.has(0)) return AnythingOf(call.dtype());
  const Facts& x = *call.inputs[0].facts;
  const bool safe = x.finite() || (x.softmax_safe() && IsLastAxis(call));
  return InType(call.dtype(), {0, 1, !safe}, kFunctionSlack);
}

Interval LogSoftmaxOf(const Call& call) {
  const Interval x = call.in(0);
  // Among NaN, ONNX Runtime (1.31, float64) makes numbers above 0 of the others.
  if (x.may_be_nan) return {};
  if (!x.bounded()) return {-kInfinity, 0, true};
  // The logarithm of the number of elements is below this.
  constexpr double kLogCount = 64;
  return InType(call.dtype(), {x.low - x.high - kLogCount, 0, false}, kFunctionSlack);
}

// (x - mean) / sqrt(variance + e), scaled and shifted: of n numbers none is further from their mean
// than sqrt(n) standard deviations. The variance is computed in float32 at least, perhaps as the
// mean of squares less the square of the mean.
Interval Normalized(const Call& call, double n) {
  const Interval x = call.in(0);
  const DType moments = call.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const bool guarded = call.attributes.GetFloat("epsilon", 1e-5) > 0;
  if (!guarded || !x.finite() || !(n * x.magnitude() * x.magnitude() * 4 < LargestOf(moments))) {
    return AnythingOf(call.dtype());
  }
  const double bound = std::sqrt(n) * 1.01;
  Interval result = InType(call.dtype(), {-bound, bound, false});
  if (call.has(1)) result = InType(call.dtype(), Product(result, call.in(1)), kFunctionSlack);
  if (call.has(2)) result = InType(call.dtype(), Sum(result, call.in(2)), kFunctionSlack);
  return result;
}

Interval NormalizedRows(const Call& call) {
  return Normalized(call, IsLastAxis(call) ? call.SizeAt(0, -1) : kUnknownCount);
}
Interval NormalizedChannels(const Call& call) { return Normalized(call, kUnknownCount); }

Interval BatchNormOf(const Call& call) {
  if (call.inputs.size() != 5) return AnythingOf(call.dtype());
  const double epsilon = call.attributes.GetFloat("epsilon", 1e-5);
  const Interval variance = Sum(call.in(4), {epsilon, epsilon, false});
  if (!variance.positive() || !variance.finite()) return AnythingOf(call.dtype());
  const Interval root{std::sqrt(variance.low), std::sqrt(variance.high), false};
  const Interval factor = InType(call.dtype(), Quotient(call.in(1), root), kFunctionSlack);
  // Either x s + (t - m s) or (x - m) s + t.
  const Interval scaled = InType(call.dtype(), Product(call.in(0), factor), kFunctionSlack);
  const Interval mean = InType(call.dtype(), Product(call.in(3), factor), kFunctionSlack);
  const Interval shift = InType(call.dtype(), Sum(call.in(2), Negative(mean)), kFunctionSlack);
  return InType(call.dtype(), Sum(scaled, shift), kFunctionSlack);
}

}  // namespace

std::span<const TransferRow> NormalizationTransfers() {
  static constexpr TransferRow kRows[] = {
      {"Softmax", SoftmaxOf},
      {"LogSoftmax", LogSoftmaxOf},
      {"LayerNormalization", NormalizedRows},
      {"RMSNormalization", NormalizedRows},
      {"InstanceNormalization", NormalizedChannels},
      {"BatchNormalization", BatchNormOf},
  };
  return kRows;
}

}  // namespace quotient::domain
