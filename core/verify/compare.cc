#include "core/verify/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/ops/interval.h"
#include "core/verify/elements.h"
#include "core/verify/rounding.h"
#include "core/verify/slices.h"

namespace quotient::verify {
namespace {

using model::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The scale of an element is at least this share of the whole tensor's. Smaller elements are noise
// to most readers of the tensor, and dead channels must not have a scale of their own.
constexpr double kLeastScale = 1e-3;
// So many of the smallest normal numbers are a scale in types of a wide range. Devices may flush
// what is smaller to zero before they multiply it with something ordinary.
constexpr double kNegligible = 0x1p20;
// An error of at most this many deviations by noise may be due to rounding.
constexpr double kDeviations = 2;
// Rounding is forgiven up to this many tolerances, and at most up to this share of the scale. An
// element that rounding moves farther is ill-conditioned, and comparing it is not meaningful.
constexpr double kMostTolerances = 100;
constexpr double kMostAllowance = 0.1;

bool SameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// The smallest value, by slice, among the slices that contain an element of a run.
class LeastOfRun {
 public:
  LeastOfRun(std::span<const double> of_slices, const Slices::Run& run) {
    shared_ = Least(of_slices, run.shared);
    if (run.own.has_value()) own_ = of_slices.data() + *run.own;
  }

  // `i` is the index within the run.
  double At(int64_t i) const { return own_ == nullptr ? shared_ : std::min(shared_, own_[i]); }

 private:
  double shared_;
  const double* own_ = nullptr;
};

// Raises the values of the slices that contain elements of a run to value_of(i) of each element.
template <typename ValueOf>
void RaiseSlices(const Slices::Run& run, ValueOf value_of, std::vector<double>& of_slices) {
  double largest = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const double value = value_of(i);
    largest = std::max(largest, value);
    if (!run.own.has_value()) continue;
    double& of_slice = of_slices[static_cast<size_t>(*run.own + i)];
    of_slice = std::max(of_slice, value);
  }
  for (const int64_t number : run.shared) {
    double& of_slice = of_slices[static_cast<size_t>(number)];
    of_slice = std::max(of_slice, largest);
  }
}

// The scale of what lies among nothing larger.
double LeastScale(model::DType dtype) {
  const double normal = ops::SmallestNormalOf(dtype);
  return dtype == model::DType::kFloat16 ? normal : kNegligible * normal;
}

class FloatComparison {
 public:
  FloatComparison(const Tensor& original, const Tensor& other, double tolerance,
                  const Conditioning* conditioning, NonFinite non_finite)
      : original_(original),
        other_(other),
        tolerance_(tolerance),
        most_(std::min(kMostTolerances * tolerance, kMostAllowance)),
        largest_ordinary_(LargestOrdinary(original.dtype())),
        least_scale_(LeastScale(original.dtype())),
        conditioning_(conditioning),
        non_finite_(non_finite),
        slices_(original.dims()) {}

  Difference Run() {
    if (conditioning_ == nullptr && AreSameBytes()) {
      return {.has_finite = AnyElement(original_, [](double a) { return std::isfinite(a); })};
    }
    FindScales();
    FindNoise();
    ElementReader of_original(original_), of_other(other_);
    slices_.ForEachRun([&](const Slices::Run& run) {
      const LeastOfRun scale(scales_, run), noise(noise_, run);
      for (int64_t i = 0; i < run.count; ++i) {
        const double a = of_original.Next(), b = of_other.Next();
        Judge(run.begin + i, AtLeast(scale.At(i)), noise.At(i), a, b);
      }
    });
    return std::move(result_);
  }

 private:
  bool AreSameBytes() const {
    const auto a = original_.bytes(), b = other_.bytes();
    return a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0;
  }

  void FindScales() {
    scales_.assign(slices_.count(), 0);
    ElementReader of_original(original_);
    slices_.ForEachRun([&](const Slices::Run& run) {
      const auto magnitude = [&](int64_t) {
        const double a = std::abs(of_original.Next());
        return a <= largest_ordinary_ ? a : 0;  // Also 0 for NaN.
      };
      RaiseSlices(run, magnitude, scales_);
    });
    // If the original is zero everywhere, differences are compared with 1.
    if (scales_[0] == 0) scales_[0] = 1;
  }

  // Finds the largest deviation in each slice, among well-conditioned elements.
  void FindNoise() {
    noise_.assign(slices_.count(), 0);
    if (conditioning_ == nullptr) return;
    result_.doubtful.resize(static_cast<size_t>(slices_.elements()));
    result_.told.resize(static_cast<size_t>(slices_.elements()));
    slices_.ForEachRun([&](const Slices::Run& run) {
      const LeastOfRun scale(scales_, run);
      const auto deviation = [&](int64_t i) {
        return IsStable(run.begin + i, AtLeast(scale.At(i))) ? Deviation(run.begin + i) : 0;
      };
      RaiseSlices(run, deviation, noise_);
    });
  }

  double AtLeast(double scale) const {
    return std::max({scale, kLeastScale * scales_[0], least_scale_});
  }
  double Deviation(int64_t index) const {
    return conditioning_->deviation[static_cast<size_t>(index)];
  }
  bool IsStable(int64_t index, double scale) const {
    return kDeviations * Deviation(index) <= most_ * scale;
  }

  // `scale` and `slice_noise` are those of the slices that contain the element.
  void Judge(int64_t index, double scale, double slice_noise, double a, double b) {
    const bool finite = std::isfinite(a) && std::isfinite(b);
    if (finite) result_.has_finite = true;
    const bool huge = finite && std::abs(a) > largest_ordinary_;
    if (huge) scale = std::abs(a);
    const bool stable = conditioning_ == nullptr || huge || IsStable(index, scale);
    if (conditioning_ != nullptr && stable && !huge) {
      const double noise = kDeviations * std::max(Deviation(index), slice_noise);
      scale += std::min(noise, most_ * scale) / tolerance_;
    }
    const double distance = finite ? std::abs(a - b) : AgreeBeyondNumbers(a, b) ? 0 : kInfinity;
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

  // For elements one of which is NaN or infinite.
  bool AgreeBeyondNumbers(double a, double b) const {
    const bool neither_is_finite = !std::isfinite(a) && !std::isfinite(b);
    return SameSpecial(a, b) || (non_finite_ == NonFinite::kMayDiffer && neither_is_finite);
  }

  // Whether an element that differs by more than is allowed is in doubt.
  bool IsInDoubt(int64_t index, bool stable, double distance) const {
    if (conditioning_ == nullptr) return false;
    return conditioning_->overflowed || (!stable && distance <= kDeviations * Deviation(index));
  }

  const Tensor& original_;
  const Tensor& other_;
  const double tolerance_;
  const double most_;
  const double largest_ordinary_;
  const double least_scale_;
  const Conditioning* const conditioning_;
  const NonFinite non_finite_;
  const Slices slices_;
  std::vector<double> scales_;  // By slice: the largest magnitude.
  std::vector<double> noise_;   // By slice: the largest deviation.
  Difference result_;
};

Difference CompareIntegers(const Tensor& original, const Tensor& other,
                           const Conditioning* conditioning) {
  const std::vector<int64_t> a = original.AsInts(), b = other.AsInts();
  Difference result{.has_finite = original.elements() > 0};
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

// The tolerance for results that were computed through values of this type.
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
                   const Conditioning* conditioning, NonFinite non_finite) {
  if (original.type() != other.type()) return {kInfinity, 0};
  return model::IsFloat(original.dtype())
             ? FloatComparison(original, other, tolerance, conditioning, non_finite).Run()
             : CompareIntegers(original, other, conditioning);
}

double RelativeNorm(const Tensor& original, const Tensor& other) {
  if (original.type() != other.type()) return kInfinity;
  if (!model::IsFloat(original.dtype())) return 0;
  ElementReader read_original(original), read_other(other);
  const double largest_ordinary = LargestOrdinary(original.dtype());
  double of_original = 0, of_difference = 0;
  for (int64_t index = 0; index < original.elements(); ++index) {
    const double a = read_original.Next(), b = read_other.Next();
    if (!(std::abs(a) <= largest_ordinary)) continue;
    of_original += a * a;
    of_difference += (a - b) * (a - b);
  }
  if (!std::isfinite(of_difference)) return kInfinity;
  // If the original is zero everywhere, differences are compared with 1.
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
