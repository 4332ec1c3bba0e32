#pragma once

// The grid that Resize samples: the number of elements along each axis of the output, and their
// positions on the input's axis (ONNX operator specification, Resize-19).

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"

namespace quotient::ops {

// How one axis is sampled.
struct AxisGrid {
  int64_t in = 0;
  int64_t out = 0;
  float scale = 1;  // Given, or out / in. A float as in ONNX, because ties depend on it.
  double roi_start = 0;
  double roi_end = 1;
};

// Attributes of Resize, with their defaults where they are absent.
std::string ResizeTransformation(const model::AttributeMap& attributes);
std::string ResizePolicy(const model::AttributeMap& attributes);
// Null if absent or of another kind.
const model::Floats* FindFloats(const model::AttributeMap& attributes, absl::string_view name);

// The grids of all axes; nullopt if scales or sizes are not attributes yet. Fails with
// INVALID_ARGUMENT if they contradict each other or `dims`.
absl::StatusOr<std::optional<std::vector<AxisGrid>>> GridsOf(const model::AttributeMap& attributes,
                                                             std::span<const int64_t> dims);

// The position of an output index on the input's axis. T is float for the nearest element, as in
// ONNX Runtime, so that ties are resolved alike, and double for interpolation.
template <typename T>
T Coordinate(const std::string& transformation, const AxisGrid& grid, int64_t index);

// Whether the sample takes the extrapolation value.
bool IsOutside(const std::string& transformation, const AxisGrid& grid, double coordinate);

// The index nearest to x, which may lie far outside [0, size).
int64_t RoundToIndex(absl::string_view rounding, float x, int64_t size);

// The index of the input's element nearest to each output, or -1 for the extrapolation value. The
// axis is not empty.
std::vector<int64_t> NearestOf(const model::AttributeMap& attributes, const AxisGrid& grid);

// An element of the output, interpolated along one axis: the weighted sum of neighbours, two if the
// mode is linear and four if it is cubic. Near the border, neighbours may be the same element.
struct Sample {
  static constexpr int kMostTaps = 4;
  std::array<int64_t, kMostTaps> index = {};
  std::array<double, kMostTaps> weight = {};  // They add up to 1.
  int taps = 0;
  bool is_outside = false;  // It has the extrapolation value instead, and no taps.
};

// All samples of an axis, which is not empty. The mode is linear or cubic.
std::vector<Sample> SamplesOf(const model::AttributeMap& attributes, const AxisGrid& grid);

// Whether each output is the input's element of the same index.
bool IsIdentity(const std::vector<Sample>& samples, int64_t in);

}  // namespace quotient::ops
