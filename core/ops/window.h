#pragma once

// The sliding window of Conv, ConvTranspose and the pools: its attributes, the sizes that follow,
// and the loop that finds what a tap of the kernel sees.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::ops {

// Spatial axes at most; ONNX Runtime has kernels for three.
inline constexpr size_t kMaxSpatialAxes = 6;

// One entry per spatial axis; all numbers are below 2^31, kernel, strides and dilations at least 1.
// The kernel has at most 2^24 elements.
struct Window {
  model::Ints kernel;
  model::Ints strides;
  model::Ints dilations;
  model::Ints pads_begin;  // zero as long as pads_known is false
  model::Ints pads_end;
  // False if auto_pad asks for an output of input/stride and an input dimension that decides how
  // much padding this takes is not a number.
  bool pads_known = true;

  size_t axes() const { return kernel.size(); }
  // Of the kernel with its holes.
  int64_t Extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  int64_t Padding(size_t axis) const { return pads_begin[axis] + pads_end[axis]; }
};

// auto_pad, parsed. kNone: the attribute `pads` counts.
enum class AutoPad { kNone, kValid, kSameUpper, kSameLower };
absl::StatusOr<AutoPad> ReadAutoPad(const model::AttributeMap& attributes);

// The window of a kernel of that size over `input`, the spatial dimensions. MODEL_SHAPE naming the
// attribute that has a wrong length or value.
absl::StatusOr<Window> ReadWindow(const model::AttributeMap& attributes, const model::Ints& kernel,
                                  std::span<const model::Dim> input);
// As ReadWindow, without a look at pads and auto_pad: all pads are zero.
absl::StatusOr<Window> ReadUnpaddedWindow(const model::AttributeMap& attributes,
                                          const model::Ints& kernel);

// Attribute `name` as `count` numbers in [least, 2^31), or `otherwise` everywhere if it is absent.
absl::StatusOr<model::Ints> ReadPerAxis(const model::AttributeMap& attributes,
                                        absl::string_view name, size_t count, int64_t least,
                                        int64_t otherwise);

// Half of the padding in front, the odd one there too if `more_in_front`.
void SplitPadding(int64_t total, bool more_in_front, int64_t& begin, int64_t& end);

// How often the window fits along the axis. Symbols survive where the size does not change.
// MODEL_SHAPE if the padded input is smaller than the kernel.
absl::StatusOr<model::Dim> OutputDim(const Window& window, size_t axis, const model::Dim& input,
                                     bool ceil_mode);

// Canonical attributes: pads instead of auto_pad where they are known; strides, dilations and pads
// absent where they say nothing.
void WriteWindow(const Window& window, model::AttributeMap& attributes);

// Spatial dimensions: those behind batch and channels.
inline std::span<const model::Dim> SpatialDims(const model::Shape& shape) {
  return std::span(shape).subspan(2);
}
inline model::Ints SpatialDims(std::span<const int64_t> dims) {
  return model::Ints(dims.begin() + 2, dims.end());
}

// The pairs (position in the plane, position of the window) that a tap of the kernel connects.
// Taps and positions are row-major indices; the plane is row-major. Immutable and thread-safe.
class WindowTaps {
 public:
  // `plane`: dims of what the window slides over; `positions`: how often it fits per axis.
  WindowTaps(const Window& window, model::Ints plane, model::Ints positions);

  int64_t taps() const { return taps_; }
  int64_t positions() const { return position_count_; }
  int64_t plane_size() const { return plane_size_; }

  // out[i] = the element of the plane that the tap sees at position begin + i, `padding` where it
  // sees none.
  void Gather(const double* plane, int64_t tap, int64_t begin, double padding,
              std::span<double> out) const;
  // out[i] += factor * the element of the plane that the tap sees at position i, where it sees one.
  void AddScaled(const double* plane, int64_t tap, double factor, std::span<double> out) const;
  // The adjoint of Gather: adds values[i] to the element that the tap sees at position i.
  void Scatter(std::span<const double> values, int64_t tap, double* plane) const;

 private:
  // Calls visit(done, skip, length, offset, total) for runs along the last axis: of `total`
  // positions from begin + done on, those from `skip` on, `length` in number, see the plane from
  // `offset` on, the last axis's stride apart.
  template <typename Visit>
  void VisitRuns(int64_t tap, int64_t begin, int64_t count, const Visit& visit) const;

  Window window_;
  model::Ints plane_;
  model::Ints positions_;
  int64_t taps_;
  int64_t plane_size_;
  int64_t position_count_;
};

}  // namespace quotient::ops
