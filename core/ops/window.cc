#include "core/ops/window.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/ops/dims.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::Dim;
using model::Ints;

constexpr int64_t kMaxValue = std::numeric_limits<int32_t>::max();
// Maximum size of a kernel: far beyond any network, but small enough to process one position
// quickly.
constexpr int64_t kMaxTaps = int64_t{1} << 24;

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0); }

// Pads so that the output has size ceil(input / stride). Returns false if that is not known.
bool PadToSame(Window& window, size_t axis, const Dim& input, bool more_in_front) {
  const int64_t stride = window.strides[axis];
  int64_t total = window.Extent(axis) - 1;
  if (stride != 1) {
    if (!input.is_number()) return false;
    const int64_t covered = (CeilDiv(input.number(), stride) - 1) * stride + window.Extent(axis);
    total = std::max<int64_t>(0, covered - input.number());
  }
  SplitPadding(total, more_in_front, window.pads_begin[axis], window.pads_end[axis]);
  return true;
}

bool AllAre(const Ints& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
}

// Whether the kernel has one tap that reads every element once.
bool IsPointwise(const Window& window) {
  return AllAre(window.kernel, 1) && AllAre(window.strides, 1) && AllAre(window.pads_begin, 0) &&
         AllAre(window.pads_end, 0);
}

void SetUnless(const Ints& values, int64_t otherwise, absl::string_view name,
               AttributeMap& attributes) {
  if (AllAre(values, otherwise)) {
    attributes.Erase(name);
  } else {
    attributes.Set(name, values);
  }
}

}  // namespace

bool Window::AlwaysReads(size_t axis, const Dim& input) const {
  // An input whose size is not known may be empty.
  if (!pads_known || !input.is_number() || input.number() < 1) return false;
  // The last tap is never before the input, nor the first one behind it.
  if (pads_begin[axis] >= Extent(axis) || pads_end[axis] >= Extent(axis)) return false;
  // So one of the two is inside the input, or the input is between them. Without padding in front
  // the first one is never before the input; a hole that is smaller than the input cannot hide it.
  return pads_begin[axis] == 0 || dilations[axis] <= input.number();
}

bool AlwaysReads(const Window& window, std::span<const Dim> input) {
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    if (!window.AlwaysReads(axis, input[axis])) return false;
  }
  return true;
}

absl::StatusOr<Ints> ReadPerAxis(const AttributeMap& attributes, absl::string_view name,
                                 size_t count, int64_t least, int64_t otherwise) {
  const Ints* values = attributes.FindInts(name);
  if (values == nullptr) return Ints(count, otherwise);
  if (values->size() != count) {
    return ShapeError("attribute ", name, " has ", values->size(), " numbers, not ", count);
  }
  for (int64_t value : *values) {
    if (value < least || value > kMaxValue) {
      return ShapeError("attribute ", name, " has a number out of range: ", value);
    }
  }
  return *values;
}

absl::StatusOr<AutoPad> ReadAutoPad(const AttributeMap& attributes) {
  const std::string text = attributes.GetString("auto_pad", "NOTSET");
  if (text == "NOTSET") return AutoPad::kNone;
  if (text == "VALID") return AutoPad::kValid;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  return ShapeError("attribute auto_pad has an unknown value");
}

void SplitPadding(int64_t total, bool more_in_front, int64_t& begin, int64_t& end) {
  begin = more_in_front ? CeilDiv(total, 2) : total / 2;
  end = total - begin;
}

absl::StatusOr<Window> ReadUnpaddedWindow(const AttributeMap& attributes, const Ints& kernel) {
  const size_t axes = kernel.size();
  if (axes == 0 || axes > kMaxSpatialAxes) {
    return ShapeError("a window along ", axes, " axes; from 1 to ", kMaxSpatialAxes,
                      " are possible");
  }
  int64_t taps = 1;
  for (int64_t size : kernel) {
    if (size < 1 || size > kMaxValue) return ShapeError("a kernel dimension of ", size);
    taps *= size;
    if (taps > kMaxTaps) return ShapeError("a kernel of more than ", kMaxTaps, " elements");
  }
  Window window;
  window.kernel = kernel;
  QUOTIENT_ASSIGN_OR_RETURN(window.strides, ReadPerAxis(attributes, "strides", axes, 1, 1));
  QUOTIENT_ASSIGN_OR_RETURN(window.dilations, ReadPerAxis(attributes, "dilations", axes, 1, 1));
  window.pads_begin.assign(axes, 0);
  window.pads_end.assign(axes, 0);
  return window;
}

absl::StatusOr<Window> ReadWindow(const AttributeMap& attributes, const Ints& kernel,
                                  std::span<const Dim> input) {
  QUOTIENT_ASSIGN_OR_RETURN(Window window, ReadUnpaddedWindow(attributes, kernel));
  const size_t axes = window.axes();
  if (input.size() != axes) {
    return ShapeError("a kernel along ", axes, " axes over an input with ", input.size());
  }
  QUOTIENT_ASSIGN_OR_RETURN(const AutoPad auto_pad, ReadAutoPad(attributes));
  if (auto_pad == AutoPad::kValid) return window;
  if (auto_pad == AutoPad::kNone) {
    QUOTIENT_ASSIGN_OR_RETURN(const Ints pads, ReadPerAxis(attributes, "pads", 2 * axes, 0, 0));
    window.pads_begin.assign(pads.begin(), pads.begin() + axes);
    window.pads_end.assign(pads.begin() + axes, pads.end());
    return window;
  }
  for (size_t axis = 0; axis < axes; ++axis) {
    window.pads_known &= PadToSame(window, axis, input[axis], auto_pad == AutoPad::kSameLower);
  }
  if (!window.pads_known) {
    window.pads_begin.assign(axes, 0);
    window.pads_end.assign(axes, 0);
  }
  return window;
}

absl::StatusOr<Dim> OutputDim(const Window& window, size_t axis, const Dim& input, bool ceil_mode) {
  const int64_t stride = window.strides[axis];
  if (!window.pads_known) {
    if (input.is_number()) return Dim(CeilDiv(input.number(), stride));
    return FloorDim(input, stride - 1, stride);
  }
  const int64_t growth = window.Padding(axis) - window.Extent(axis) + 1;
  if (!input.is_number()) {
    // With ceil_mode, the number of windows that begin behind the input would have to be known.
    const bool is_cut = ceil_mode && (stride != 1 || window.pads_end[axis] >= window.Extent(axis));
    return is_cut ? Dim() : FloorDim(input, growth - 1 + stride, stride);
  }
  const std::optional<int64_t> places = CheckedAdd(input.number(), growth);
  if (!places || *places < 1) {
    return ShapeError("a kernel of extent ", window.Extent(axis), " does not fit the input of ",
                      input.number(), " with padding ", window.Padding(axis),
                      " along spatial axis ", axis);
  }
  int64_t count = (*places - 1) / stride + 1;
  if (ceil_mode) {
    count = CeilDiv(*places - 1, stride) + 1;
    // A window must begin inside the input or the padding before it.
    if ((count - 1) * stride >= input.number() + window.pads_begin[axis]) --count;
  }
  return Dim(count);
}

void WriteWindow(const Window& window, AttributeMap& attributes) {
  SetUnless(window.strides, 1, "strides", attributes);
  SetUnless(window.dilations, 1, "dilations", attributes);
  if (!window.pads_known) return;
  attributes.Erase("auto_pad");
  Ints pads = window.pads_begin;
  pads.insert(pads.end(), window.pads_end.begin(), window.pads_end.end());
  SetUnless(pads, 0, "pads", attributes);
}

WindowTaps::WindowTaps(const Window& window, Ints plane, Ints positions)
    : window_(window),
      plane_(std::move(plane)),
      positions_(std::move(positions)),
      taps_(Count(window.kernel)),
      plane_size_(Count(plane_)),
      position_count_(Count(positions_)) {
  if (IsPointwise(window_) && plane_ == positions_) {  // One long run instead of many short ones.
    window_ = Window{{1}, {1}, {1}, {0}, {0}};
    plane_ = {plane_size_};
    positions_ = {position_count_};
  }
}

template <typename Visit>
void WindowTaps::VisitRuns(int64_t tap, int64_t begin, int64_t count, const Visit& visit) const {
  const size_t axes = window_.axes();
  const size_t last = axes - 1;
  // The tap's offset from the window's position, and the position of `begin`.
  std::array<int64_t, kMaxSpatialAxes> shift, index;
  for (size_t axis = axes; axis-- > 0; tap /= window_.kernel[axis]) {
    shift[axis] = tap % window_.kernel[axis] * window_.dilations[axis] - window_.pads_begin[axis];
  }
  for (size_t axis = axes, rest = begin; axis-- > 0; rest /= positions_[axis]) {
    index[axis] = rest % positions_[axis];
  }
  const int64_t stride = window_.strides[last];
  const int64_t width = plane_[last];
  // The tap lies inside the plane for the columns [first, end).
  const int64_t first = shift[last] >= 0 ? 0 : CeilDiv(-shift[last], stride);
  const int64_t end = width > shift[last] ? (width - 1 - shift[last]) / stride + 1 : 0;
  for (int64_t done = 0; done < count;) {
    int64_t row = 0;
    bool inside = true;
    for (size_t axis = 0; axis < last; ++axis) {
      const int64_t at = index[axis] * window_.strides[axis] + shift[axis];
      inside &= at >= 0 && at < plane_[axis];
      row = row * plane_[axis] + at;
    }
    const int64_t column = index[last];
    const int64_t total = std::min(positions_[last] - column, count - done);
    const int64_t from = std::clamp(first, column, column + total);
    const int64_t to = inside ? std::clamp(end, from, column + total) : from;
    visit(done, from - column, to - from, row * width + from * stride + shift[last], total);
    done += total;
    index[last] = 0;
    for (size_t axis = last; axis-- > 0;) {
      if (++index[axis] < positions_[axis]) break;
      index[axis] = 0;
    }
  }
}

void WindowTaps::Gather(const double* plane, int64_t tap, int64_t begin, double padding,
                        std::span<double> out) const {
  const int64_t stride = window_.strides.back();
  VisitRuns(tap, begin, out.size(),
            [&](int64_t done, int64_t skip, int64_t length, int64_t offset, int64_t total) {
              double* to = out.data() + done;
              std::fill(to, to + skip, padding);
              if (stride == 1 && length > 0) {
                std::copy_n(plane + offset, length, to + skip);
              } else {
                for (int64_t i = 0; i < length; ++i) to[skip + i] = plane[offset + i * stride];
              }
              std::fill(to + skip + length, to + total, padding);
            });
}

void WindowTaps::AddScaled(const double* plane, int64_t tap, double factor,
                           std::span<double> out) const {
  const int64_t stride = window_.strides.back();
  VisitRuns(tap, 0, out.size(),
            [&](int64_t done, int64_t skip, int64_t length, int64_t offset, int64_t) {
              double* to = out.data() + done + skip;
              for (int64_t i = 0; i < length; ++i) to[i] += factor * plane[offset + i * stride];
            });
}

void WindowTaps::Scatter(std::span<const double> values, int64_t tap, double* plane) const {
  const int64_t stride = window_.strides.back();
  VisitRuns(tap, 0, values.size(),
            [&](int64_t done, int64_t skip, int64_t length, int64_t offset, int64_t) {
              const double* from = values.data() + done + skip;
              for (int64_t i = 0; i < length; ++i) plane[offset + i * stride] += from[i];
            });
}

}  // namespace quotient::ops
