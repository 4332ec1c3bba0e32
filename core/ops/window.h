#pragma once

// The sliding window of Conv, ConvTranspose and the pools: its attributes, the resulting sizes, and
// the loops over the elements that each tap of the kernel reads.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/model/shape.h"

namespace quotient::ops {

// Maximum number of spatial axes. ONNX Runtime has kernels for three.
inline constexpr size_t kMaxSpatialAxes = 6;

// Has one entry per spatial axis. All numbers are below 2^31; kernel, strides and dilations are at
// least 1. The kernel has at most 2^24 elements.
struct Window {
  model::Ints kernel;
  model::Ints strides;
  model::Ints dilations;
  model::Ints pads_begin;  // Zero if pads_known is false.
  model::Ints pads_end;
  // False if auto_pad requests an output of size input/stride and the padding depends on an input
  // dimension that is not a number.
  bool pads_known = true;

  size_t axes() const { return kernel.size(); }
  // The size of the kernel including the holes of dilation.
  int64_t Extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  int64_t Padding(size_t axis) const { return pads_begin[axis] + pads_end[axis]; }
  // Whether the window is sure to read an element of the input along the axis, at every position;
  // else it may lie in the padding alone. `input` is the size along the axis.
  bool AlwaysReads(size_t axis, const model::Dim& input) const;
};

// Whether that holds for all axes.
bool AlwaysReads(const Window& window, std::span<const model::Dim> input);

// The parsed attribute auto_pad. kNone means that the attribute `pads` is used.
enum class AutoPad { kNone, kValid, kSameUpper, kSameLower };
absl::StatusOr<AutoPad> ReadAutoPad(const model::AttributeMap& attributes);

// The window of a kernel of that size over `input`, the spatial dimensions. Fails with MODEL_SHAPE,
// naming an attribute of wrong length or value.
absl::StatusOr<Window> ReadWindow(const model::AttributeMap& attributes, const model::Ints& kernel,
                                  std::span<const model::Dim> input);
// Like ReadWindow, but ignores pads and auto_pad: all pads are zero.
absl::StatusOr<Window> ReadUnpaddedWindow(const model::AttributeMap& attributes,
                                          const model::Ints& kernel);

// Attribute `name` as `count` numbers in [least, 2^31), or `otherwise` for all if it is absent.
absl::StatusOr<model::Ints> ReadPerAxis(const model::AttributeMap& attributes,
                                        absl::string_view name, size_t count, int64_t least,
                                        int64_t otherwise);

// Splits the padding in two halves. An odd element goes to the front if `more_in_front`.
void SplitPadding(int64_t total, bool more_in_front, int64_t& begin, int64_t& end);

// The number of positions of the window along the axis. Unknown for a symbol if `ceil_mode` may
// make a difference. Fails with MODEL_SHAPE if the padded input is smaller than the kernel.
absl::StatusOr<model::Dim> OutputDim(const Window& window, size_t axis, const model::Dim& input,
                                     bool ceil_mode);

// Writes canonical attributes: pads instead of auto_pad where they are known; no strides, dilations
// and pads where they have no effect.
void WriteWindow(const Window& window, model::AttributeMap& attributes);

// The spatial dimensions, which follow batch and channels.
inline std::span<const model::Dim> SpatialDims(const model::Shape& shape) {
  return std::span(shape).subspan(2);
}
inline model::Ints SpatialDims(std::span<const int64_t> dims) {
  return model::Ints(dims.begin() + 2, dims.end());
}

// The pairs (element of the plane, position of the window) that each tap of the kernel connects.
// Taps, positions and the plane are row-major. Immutable and thread-safe.
class WindowTaps {
 public:
  // `plane` has the dimensions that the window slides over, `positions` the number of positions per
  // axis.
  WindowTaps(const Window& window, model::Ints plane, model::Ints positions);

  int64_t taps() const { return taps_; }
  int64_t positions() const { return position_count_; }
  int64_t plane_size() const { return plane_size_; }

  // Sets out[i] to the element of the plane that the tap reads at position begin + i, or to
  // `padding` where it lies outside.
  void Gather(const double* plane, int64_t tap, int64_t begin, double padding,
              std::span<double> out) const;
  // Adds factor * the element that the tap reads at position i to out[i], where it lies inside.
  void AddScaled(const double* plane, int64_t tap, double factor, std::span<double> out) const;
  // The adjoint of Gather: adds values[i] to the element that the tap reads at position i.
  void Scatter(std::span<const double> values, int64_t tap, double* plane) const;

 private:
  // Calls visit(done, skip, length, offset, total) for runs along the last axis. A run has `total`
  // positions starting at begin + done. Of these, `length` positions starting at `skip` lie inside
  // the plane; they read elements starting at `offset`, one stride of the last axis apart.
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
