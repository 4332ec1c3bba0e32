#include "core/ops/resize_grid.h"

#include <algorithm>
#include <cmath>

#include "core/base/status_macros.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::AttributeMap;
using model::Floats;
using model::Ints;

// floor(x + 1/2), the rounding of keep_aspect_ratio_policy.
int64_t RoundHalfUp(float x) { return static_cast<int64_t>(std::floor(std::min(x, 9e18f) + 0.5f)); }

// Applies a policy that preserves the aspect ratio: one scale for all resized axes.
void KeepAspect(absl::string_view policy, const Ints& axes, std::vector<AxisGrid>& grids) {
  if (policy == "stretch" || axes.empty()) return;
  float common = grids[static_cast<size_t>(axes[0])].scale;
  for (int64_t axis : axes) {
    const float scale = grids[static_cast<size_t>(axis)].scale;
    common = policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
  }
  for (int64_t axis : axes) {
    AxisGrid& grid = grids[static_cast<size_t>(axis)];
    grid.scale = common;
    grid.out = RoundHalfUp(common * static_cast<float>(grid.in));
  }
}

// A region of interest does not change the size, as in ONNX's shape inference and ONNX Runtime.
absl::Status SetScale(AxisGrid& grid, double scale) {
  if (!(scale > 0)) return ShapeError("Resize with a scale of ", scale);
  grid.scale = static_cast<float>(scale);
  const float size = std::floor(static_cast<float>(grid.in) * grid.scale);
  if (!(size >= 0 && size < 9e18f)) return ShapeError("Resize to ", size, " elements");
  grid.out = static_cast<int64_t>(size);
  return absl::OkStatus();
}

absl::Status SetSize(AxisGrid& grid, int64_t size) {
  if (size < 0 || (size > 0 && grid.in == 0)) {
    return ShapeError("Resize of ", grid.in, " elements to ", size);
  }
  grid.out = size;
  grid.scale = grid.in == 0 ? 1.0f : static_cast<float>(size) / static_cast<float>(grid.in);
  return absl::OkStatus();
}

// Two neighbours. Beyond the border there is only the element at the border.
void AddLinearTaps(double at, int64_t in, Sample& sample) {
  const double inside = std::clamp(at, 0.0, static_cast<double>(in - 1));
  const int64_t lower = static_cast<int64_t>(inside);
  const double weight = inside - static_cast<double>(lower);
  sample.taps = 2;
  sample.index = {lower, std::min(lower + 1, in - 1)};
  sample.weight = {1 - weight, weight};
}

// The weight of an element at a distance of at most 2 (R. Keys, "Cubic convolution interpolation
// for digital image processing", 1981).
double CubicWeight(double a, double distance) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// Four neighbours. Those beyond the border are the element at the border, or count for nothing if
// `excludes_outside`.
void AddCubicTaps(double at, int64_t in, double a, bool excludes_outside, Sample& sample) {
  // Farther away there is only the border.
  at = std::clamp(at, -3.0, static_cast<double>(in) + 2);
  const auto base = static_cast<int64_t>(std::floor(at));
  double sum = 0;
  sample.taps = Sample::kMostTaps;
  for (int tap = 0; tap < Sample::kMostTaps; ++tap) {
    const int64_t index = base - 1 + tap;
    const bool counts = !excludes_outside || (index >= 0 && index < in);
    sample.index[tap] = std::clamp<int64_t>(index, 0, in - 1);
    sample.weight[tap] = counts ? CubicWeight(a, at - static_cast<double>(index)) : 0;
    sum += sample.weight[tap];
  }
  if (!excludes_outside) return;
  for (double& weight : sample.weight) weight /= sum;
}

}  // namespace

std::string ResizeTransformation(const AttributeMap& attributes) {
  return attributes.GetString("coordinate_transformation_mode", "half_pixel");
}

std::string ResizePolicy(const AttributeMap& attributes) {
  return attributes.GetString("keep_aspect_ratio_policy", "stretch");
}

const Floats* FindFloats(const AttributeMap& attributes, absl::string_view name) {
  const Attribute* value = attributes.Find(name);
  return value == nullptr ? nullptr : std::get_if<Floats>(value);
}

absl::StatusOr<std::optional<std::vector<AxisGrid>>> GridsOf(const AttributeMap& attributes,
                                                             std::span<const int64_t> dims) {
  const Floats* scales = FindFloats(attributes, "scales");
  const Ints* sizes = attributes.FindInts("sizes");
  if (scales == nullptr && sizes == nullptr) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(dims.size());
  Ints axes = attributes.GetInts("axes");
  if (!attributes.Has("axes")) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  QUOTIENT_RETURN_IF_ERROR(NormalizeAxes(axes, rank).status());
  const size_t count = scales != nullptr ? scales->size() : sizes->size();
  // The region of interest is absent if it has no meaning or is not known yet; sizes do not depend
  // on it.
  const Floats* roi = FindFloats(attributes, "roi");
  if (count != axes.size() || (roi != nullptr && roi->size() != 2 * count)) {
    return ShapeError("Resize of ", axes.size(), " axes with ", count, " values");
  }
  std::vector<AxisGrid> grids(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) grids[i].in = grids[i].out = dims[i];
  for (size_t i = 0; i < count; ++i) {
    axes[i] += axes[i] < 0 ? rank : 0;
    AxisGrid& grid = grids[static_cast<size_t>(axes[i])];
    if (roi != nullptr) {
      grid.roi_start = (*roi)[i];
      grid.roi_end = (*roi)[count + i];
    }
    QUOTIENT_RETURN_IF_ERROR(scales != nullptr ? SetScale(grid, (*scales)[i])
                                               : SetSize(grid, (*sizes)[i]));
  }
  if (scales == nullptr) KeepAspect(ResizePolicy(attributes), axes, grids);
  return grids;
}

template <typename T>
T Coordinate(const std::string& transformation, const AxisGrid& grid, int64_t index) {
  const T x = static_cast<T>(index);
  const T in = static_cast<T>(grid.in);
  const T out = static_cast<T>(grid.out);
  const T scale = static_cast<T>(grid.scale);
  const T half = static_cast<T>(0.5);
  if (transformation == "asymmetric") return x / scale;
  if (transformation == "align_corners") return grid.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (transformation == "pytorch_half_pixel") return grid.out > 1 ? (x + half) / scale - half : 0;
  if (transformation == "half_pixel_symmetric") {
    const T adjustment = out / (scale * in);
    return in / 2 * (1 - adjustment) + (x + half) / scale - half;
  }
  if (transformation == "tf_crop_and_resize") {
    const T start = static_cast<T>(grid.roi_start);
    const T end = static_cast<T>(grid.roi_end);
    if (grid.out == 1) return half * (start + end) * (in - 1);
    return start * (in - 1) + x * (end - start) * (in - 1) / (out - 1);
  }
  return (x + half) / scale - half;
}

template float Coordinate<float>(const std::string&, const AxisGrid&, int64_t);
template double Coordinate<double>(const std::string&, const AxisGrid&, int64_t);

bool IsOutside(const std::string& transformation, const AxisGrid& grid, double coordinate) {
  return transformation == "tf_crop_and_resize" &&
         !(coordinate >= 0 && coordinate <= static_cast<double>(grid.in - 1));  // Also if NaN.
}

std::vector<int64_t> NearestOf(const AttributeMap& attributes, const AxisGrid& grid) {
  const std::string transformation = ResizeTransformation(attributes);
  const std::string rounding = attributes.GetString("nearest_mode", "round_prefer_floor");
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < grid.out; ++i) {
    const float at = Coordinate<float>(transformation, grid, i);
    indices.push_back(
        IsOutside(transformation, grid, at)
            ? -1
            : std::clamp<int64_t>(RoundToIndex(rounding, at, grid.in), 0, grid.in - 1));
  }
  return indices;
}

std::vector<Sample> SamplesOf(const AttributeMap& attributes, const AxisGrid& grid) {
  const std::string transformation = ResizeTransformation(attributes);
  const bool is_cubic = attributes.GetString("mode", "nearest") == "cubic";
  const double a = attributes.GetFloat("cubic_coeff_a", -0.75);
  const bool excludes_outside = attributes.GetInt("exclude_outside", 0) != 0;
  std::vector<Sample> samples;
  for (int64_t i = 0; i < grid.out; ++i) {
    const double at = Coordinate<double>(transformation, grid, i);
    Sample& sample = samples.emplace_back();
    sample.is_outside = IsOutside(transformation, grid, at);
    if (sample.is_outside) continue;
    if (is_cubic) {
      AddCubicTaps(at, grid.in, a, excludes_outside, sample);
    } else {
      AddLinearTaps(at, grid.in, sample);
    }
  }
  return samples;
}

bool IsIdentity(const std::vector<Sample>& samples, int64_t in) {
  if (static_cast<int64_t>(samples.size()) != in) return false;
  for (int64_t i = 0; i < in; ++i) {
    const Sample& sample = samples[static_cast<size_t>(i)];
    if (sample.is_outside) return false;
    for (int tap = 0; tap < sample.taps; ++tap) {
      const double own = sample.index[tap] == i ? sample.weight[tap] : 0;
      if (own != 1 && sample.weight[tap] != 0) return false;
    }
  }
  return true;
}

int64_t RoundToIndex(absl::string_view rounding, float x, int64_t size) {
  x = std::clamp(x, -1.0f, static_cast<float>(size));
  if (rounding == "floor") return static_cast<int64_t>(std::floor(x));
  if (rounding == "ceil") return static_cast<int64_t>(std::ceil(x));
  const bool tie = x - std::floor(x) == 0.5f;
  if (tie)
    return static_cast<int64_t>(rounding == "round_prefer_ceil" ? std::ceil(x) : std::floor(x));
  return static_cast<int64_t>(std::round(x));
}

}  // namespace quotient::ops
