#include "core/rules/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/interval.h"

namespace quotient::rules {
namespace {

using domain::ClassData;
using model::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two such factors, or one and an activation of ordinary size, stay normal numbers.
double LargestFactor(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p8;
    case DType::kFloat64:
      return 0x1p256;
    default:
      return 0x1p32;
  }
}

// Whether the sum of two constants is far smaller than they are. False if a value is not known or
// their shapes differ, because that is not the pattern x + c - c.
bool Cancel(const ClassData& a, const ClassData& b) {
  if (!a.constant_sizes || !b.constant_sizes) return false;
  const model::Tensor& longer =
      a.constant->elements() >= b.constant->elements() ? *a.constant : *b.constant;
  const model::Tensor& other = &longer == &*a.constant ? *b.constant : *a.constant;
  const bool repeats = other.elements() == 1;
  if (!repeats && other.dims() != longer.dims()) return false;
  double sum = 0;
  for (int64_t i = 0; i < longer.elements(); ++i) {
    sum = std::max(sum, std::abs(longer.GetDouble(i) + other.GetDouble(repeats ? 0 : i)));
  }
  return sum < (SizesOf(a).largest + SizesOf(b).largest) / 16;
}

bool HasZero(const model::Tensor& tensor) {
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (tensor.GetDouble(i) == 0) return true;
  }
  return false;
}

bool AreFactors(const Sizes& sizes, DType dtype) {
  const double limit = LargestFactor(dtype);
  if (!(sizes.largest <= limit)) return false;
  const bool may_be_any_size = dtype != DType::kFloat16;  // Others have enough range below.
  return sizes.smallest == 0 ? may_be_any_size : sizes.smallest >= 1 / limit;
}

}  // namespace

Sizes SizesOf(const ClassData& data) {
  if (data.constant_sizes) return *data.constant_sizes;
  const ops::Interval& values = data.facts.values;
  if (!values.finite()) return {kInfinity, 0};
  return {values.magnitude(), std::max({values.low, -values.high, 0.0})};
}

// epsilon * LargestShift / 2 is about half of the tolerance (core/verify).
double LargestShift(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 0x1p4;
    case DType::kBfloat16:
      return 0x1p1;
    case DType::kFloat32:
      return 0x1p10;
    default:
      return 0x1p20;
  }
}

bool IsShift(const ClassData& data) {
  return model::IsFloat(data.type.dtype) && SizesOf(data).largest <= LargestShift(data.type.dtype);
}

bool MayBeSummed(const ClassData& a, const ClassData& b) {
  return IsShift(a) && IsShift(b) && !Cancel(a, b);
}

bool IsFactor(const ClassData& data) {
  return model::IsFloat(data.type.dtype) && AreFactors(SizesOf(data), data.type.dtype);
}

bool IsEarlyFactor(const ClassData& data) {
  if (!IsFactor(data)) return false;
  return data.type.dtype != DType::kFloat16 || SizesOf(data).largest <= 1;
}

bool IsNearOne(const ClassData& data) {
  constexpr double kFarthest = 0x1p8;
  const Sizes sizes = SizesOf(data);
  return model::IsFloat(data.type.dtype) && sizes.largest <= kFarthest &&
         std::min(sizes.smallest, sizes.largest) >= 1 / kFarthest;
}

bool IsInvertible(const ClassData& data) {
  if (!data.constant_sizes || !model::IsFloat(data.type.dtype)) return false;
  const double limit = data.type.dtype == DType::kFloat16 ? 1e3 : 1e30;
  const Sizes& sizes = *data.constant_sizes;
  if (!(sizes.smallest >= 1 / limit && sizes.largest <= limit)) return false;
  return !HasZero(*data.constant);
}

bool IsNormalizable(const ClassData& scale, const ClassData& mean, const ClassData& variance,
                    double epsilon) {
  const DType dtype = variance.type.dtype;
  if (!model::IsFloat(dtype)) return false;
  // For smaller sums, adding epsilon would lose digits.
  const double least = variance.facts.values.low + epsilon;
  const double most = variance.facts.values.high + epsilon;
  if (!variance.facts.finite() || !(least >= ops::SmallestNormalOf(dtype))) return false;
  const Sizes scales = SizesOf(scale);
  const Sizes factors{scales.largest / std::sqrt(least), scales.smallest / std::sqrt(most)};
  return AreFactors(factors, dtype) &&
         factors.largest * SizesOf(mean).largest < ops::LargestOf(dtype) / 4;
}

}  // namespace quotient::rules
