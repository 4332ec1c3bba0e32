#include "core/verify/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/verify/rounding.h"
#include "core/verify/slices.h"

namespace quotient::verify {
namespace {

using model::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kChunk = 4096;

// An element's scale is at least this share of the whole tensor's: what is smaller is noise beside
// the rest to most who read it, and dead channels have no scale of their own.
constexpr double kLeastScale = 1e-3;
// An error of so many deviations by noise may still be rounding.
constexpr double kDeviations = 2;
// Rounding is forgiven up to so many tolerances, and never beyond this share of the scale: what it
// moves farther is ill-conditioned and tells nothing.
constexpr double kMostTolerances = 100;
constexpr double kMostAllowance = 0.1;

bool SameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// Two tensors of one type, element by element in order.
class Pairs {
 public:
  Pairs(const Tensor& a, const Tensor& b) : a_(a), b_(b), of_a_(kChunk), of_b_(kChunk) {}

  // `index` is the next one.
  void Load(int64_t index) {
    const int64_t offset = index % kChunk;
    if (offset == 0) {
      const size_t count = static_cast<size_t>(std::min(kChunk, a_.elements() - index));
      a_.Load(index, std::span(of_a_).first(count));
      b_.Load(index, std::span(of_b_).first(count));
    }
    a = of_a_[static_cast<size_t>(offset)];
    b = of_b_[static_cast<size_t>(offset)];
  }

  double a = 0, b = 0;

 private:
  const Tensor& a_;
  const Tensor& b_;
  std::vector<double> of_a_, of_b_;
};

class FloatComparison {
 public:
  FloatComparison(const Tensor& original, const Tensor& other, double tolerance,
                  const Conditioning* conditioning)
      : original_(original),
        other_(other),
        tolerance_(tolerance),
        most_(std::min(kMostTolerances * tolerance, kMostAllowance)),
        conditioning_(conditioning),
        slices_(original.dims()) {}

  Difference Run() {
    FindScales();
    if (conditioning_ != nullptr) FindNoise();
    Pairs pair(original_, other_);
    slices_.ForEachElement([&](int64_t index, std::span<const int64_t> slices) {
      pair.Load(index);
      Judge(index, slices, pair.a, pair.b);
    });
    return std::move(result_);
  }

 private:
  void FindScales() {
    scales_.assign(slices_.count(), 0);
    Pairs pair(original_, other_);
    slices_.ForEachElement([&](int64_t index, std::span<const int64_t> slices) {
      pair.Load(index);
      if (!std::isfinite(pair.a) || IsHuge(pair.a, original_.dtype())) return;
      for (int64_t slice : slices) Raise(scales_, slice, std::abs(pair.a));
    });
    // All zero in the original: the difference itself counts, against 1.
    if (scales_[0] == 0) scales_[0] = 1;
  }

  // The largest deviation in each slice, of elements that are well-conditioned.
  void FindNoise() {
    result_.doubtful.resize(static_cast<size_t>(slices_.elements()));
    result_.told.resize(static_cast<size_t>(slices_.elements()));
    noise_.assign(slices_.count(), 0);
    slices_.ForEachElement([&](int64_t index, std::span<const int64_t> slices) {
      if (!IsStable(index, Scale(slices))) return;
      for (int64_t slice : slices) Raise(noise_, slice, Deviation(index));
    });
  }

  static void Raise(std::vector<double>& of_slices, int64_t slice, double value) {
    double& most = of_slices[static_cast<size_t>(slice)];
    most = std::max(most, value);
  }

  double Scale(std::span<const int64_t> slices) const {
    return std::max(Least(scales_, slices), kLeastScale * scales_[0]);
  }
  double Deviation(int64_t index) const {
    return conditioning_->deviation[static_cast<size_t>(index)];
  }
  bool IsStable(int64_t index, double scale) const {
    return kDeviations * Deviation(index) <= most_ * scale;
  }

  void Judge(int64_t index, std::span<const int64_t> slices, double a, double b) {
    const bool finite = std::isfinite(a) && std::isfinite(b);
    if (finite) ++result_.finite;
    const bool huge = finite && IsHuge(a, original_.dtype());
    double scale = huge ? std::abs(a) : Scale(slices);
    const bool stable = conditioning_ == nullptr || huge || IsStable(index, scale);
    if (conditioning_ != nullptr && stable && !huge) {
      const double noise = kDeviations * std::max(Deviation(index), Least(noise_, slices));
      scale += std::min(noise, most_ * scale) / tolerance_;
    }
    const double distance = finite ? std::abs(a - b) : SameSpecial(a, b) ? 0 : kInfinity;
    const double error = distance / scale;
    if (error <= tolerance_) {
      if (conditioning_ != nullptr && stable && finite && !conditioning_->overflowed) {
        result_.told[static_cast<size_t>(index)] = true;
      }
    } else if (IsInDoubt(index, stable, distance)) {
      result_.doubtful[static_cast<size_t>(index)] = true;
      result_.has_doubts = true;
      return;
    }
    result_.wrong += error > tolerance_;
    if (error > result_.relative_error) {
      result_.relative_error = error;
      result_.index = index;
    }
  }

  // Of an element that differs by more than is allowed.
  bool IsInDoubt(int64_t index, bool stable, double distance) const {
    if (conditioning_ == nullptr) return false;
    return conditioning_->overflowed || (!stable && distance <= kDeviations * Deviation(index));
  }

  const Tensor& original_;
  const Tensor& other_;
  const double tolerance_;
  const double most_;
  const Conditioning* const conditioning_;
  const Slices slices_;
  std::vector<double> scales_;  // by slice: the largest magnitude
  std::vector<double> noise_;   // by slice: the largest deviation
  Difference result_;
};

Difference CompareIntegers(const Tensor& original, const Tensor& other,
                           const Conditioning* conditioning) {
  const std::vector<int64_t> a = original.AsInts(), b = other.AsInts();
  Difference result{.finite = original.elements()};
  if (conditioning != nullptr) {
    result.doubtful.resize(a.size());
    result.told.resize(a.size());
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const float deviation = conditioning == nullptr ? 0 : conditioning->deviation[i];
    const bool overflowed = conditioning != nullptr && conditioning->overflowed;
    if (a[i] == b[i]) {
      if (conditioning != nullptr) result.told[i] = deviation == 0 && !overflowed;
    } else if (overflowed || (deviation > 0 && std::abs(static_cast<double>(a[i]) -
                                                        static_cast<double>(b[i])) <= deviation)) {
      result.doubtful[i] = true;
      result.has_doubts = true;
    } else {
      if (result.wrong++ == 0) result.index = static_cast<int64_t>(i);
      result.relative_error = kInfinity;
    }
  }
  return result;
}

// Of results that went through values of a type.
double Tolerance(model::DType dtype) {
  switch (dtype) {
    case model::DType::kFloat32:
      return 1e-4;
    case model::DType::kFloat16:
      return 1e-2;
    case model::DType::kBfloat16:
      return 2e-2;
    default:
      return 1e-9;
  }
}

}  // namespace

Difference Compare(const Tensor& original, const Tensor& other, double tolerance,
                   const Conditioning* conditioning) {
  if (original.type() != other.type()) return {kInfinity, 0};
  return model::IsFloat(original.dtype())
             ? FloatComparison(original, other, tolerance, conditioning).Run()
             : CompareIntegers(original, other, conditioning);
}

double RelativeNorm(const Tensor& original, const Tensor& other) {
  if (original.type() != other.type()) return kInfinity;
  if (!model::IsFloat(original.dtype())) return 0;
  Pairs pair(original, other);
  double of_original = 0, of_difference = 0;
  for (int64_t index = 0; index < original.elements(); ++index) {
    pair.Load(index);
    if (!std::isfinite(pair.a) || IsHuge(pair.a, original.dtype())) continue;
    of_original += pair.a * pair.a;
    of_difference += (pair.a - pair.b) * (pair.a - pair.b);
  }
  if (!std::isfinite(of_difference)) return kInfinity;
  // All zero in the original: the difference itself counts, against 1.
  return std::sqrt(of_difference / (of_original > 0 ? of_original : 1));
}

double Tolerance(const model::Graph& graph) {
  double tolerance = 1e-9;
  const auto widen = [&](const std::vector<model::ValueId>& ids) {
    for (model::ValueId id : ids) {
      if (id.valid()) tolerance = std::max(tolerance, Tolerance(graph.value(id).type.dtype));
    }
  };
  for (const model::Node& node : graph.nodes) {
    widen(node.inputs);
    widen(node.outputs);
  }
  widen(graph.outputs);
  return tolerance;
}

}  // namespace quotient::verify
