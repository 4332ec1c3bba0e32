#include "core/prove/conditioning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/model/dtype.h"

namespace quotient::prove {
namespace {

constexpr double kChange = 0x1p-30;
// Some roundings of a double.
constexpr double kNoise = 0x1p-48;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool Same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

}  // namespace

model::Tensor Perturbed(const model::Tensor& value, Rng& rng) {
  if (!model::IsFloat(value.dtype())) return value;
  std::vector<double> elements = value.AsDoubles();
  for (double& each : elements) {
    if (!std::isfinite(each) || each == std::trunc(each)) continue;
    // Two changes of the same size would often cancel.
    const double change = kChange * rng.Uniform(0.5, 1);
    each *= 1 + (rng.Below(2) == 0 ? change : -change);
  }
  std::span<std::byte> buffer;
  const model::Tensor perturbed = model::Tensor::Allocate(value.dtype(), value.dims(), &buffer);
  model::Store(value.dtype(), buffer, 0, std::span<const double>(elements));
  return perturbed;
}

void NoteSensitivity(const model::Tensor& value, const model::Tensor& perturbed,
                     Sensitivity& sensitivity) {
  if (value.dims() != perturbed.dims()) return;
  const std::vector<double> before = value.AsDoubles();
  const std::vector<double> after = perturbed.AsDoubles();
  sensitivity.resize(before.size(), 0);
  const bool is_float = model::IsFloat(value.dtype());
  for (size_t i = 0; i < before.size(); ++i) {
    if (Same(before[i], after[i])) continue;
    const double moved = std::abs(before[i] - after[i]) / kChange;
    const bool jumps = !is_float || !std::isfinite(moved);
    sensitivity[i] = std::max(sensitivity[i], jumps ? kInfinity : moved);
  }
}

void JoinSensitivity(const Sensitivity& other, Sensitivity& sensitivity) {
  if (sensitivity.empty()) sensitivity = other;
  if (sensitivity.size() != other.size()) return;
  for (size_t i = 0; i < other.size(); ++i) sensitivity[i] = std::max(sensitivity[i], other[i]);
}

double ConditionedError(const model::Tensor& a, const model::Tensor& b,
                        const Sensitivity& sensitivity) {
  if (a.dims() != b.dims()) return kInfinity;
  const std::vector<double> left = a.AsDoubles();
  const std::vector<double> right = b.AsDoubles();
  double largest = 1;
  for (const double each : left) {
    if (std::isfinite(each)) largest = std::max(largest, std::abs(each));
  }
  double error = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const double moves = sensitivity.size() == left.size() ? sensitivity[i] : 0;
    if (Same(left[i], right[i]) || moves == kInfinity) continue;
    const double difference = std::abs(left[i] - right[i]);
    if (!std::isfinite(difference)) return kInfinity;
    const bool is_noise = difference <= kNoise * largest;
    error = std::max(error, difference / (is_noise ? largest : std::max(std::abs(left[i]), moves)));
  }
  return error;
}

}  // namespace quotient::prove
