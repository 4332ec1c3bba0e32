// Softmax and LogSoftmax.

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/elementwise.h"
#include "core/ops/exponential.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Shape;
using model::Tensor;

using Outputs = absl::StatusOr<std::vector<Tensor>>;

// The lines of a tensor along an axis, in bundles of lines whose first elements are neighbours.
class Lines {
 public:
  struct Bundle {
    int64_t first;  // The first element of the first line.
    int64_t width;  // Number of lines.
  };

  Lines(std::span<const int64_t> dims, int64_t axis)
      : length(dims[axis]),
        stride(Count(dims.subspan(axis + 1))),
        bundles_per_row_((stride + kWidth - 1) / kWidth),
        bundles_(Count(dims) == 0 ? 0 : Count(dims.first(axis)) * bundles_per_row_) {}

  int64_t bundles() const { return bundles_; }

  Bundle At(int64_t bundle) const {
    const int64_t column = bundle % bundles_per_row_ * kWidth;
    return {bundle / bundles_per_row_ * stride * length + column,
            std::min(kWidth, stride - column)};
  }

  const int64_t length;  // Elements of a line.
  const int64_t stride;  // Distance of its elements.

 private:
  static constexpr int64_t kWidth = 64;
  const int64_t bundles_per_row_;
  const int64_t bundles_;
};

// Calls access(position, part) for the contiguous runs of a bundle. `values` has the bundle's
// elements: element k of line j is values[k * width + j].
template <typename Access>
void VisitRuns(const Lines& lines, const Lines::Bundle& bundle, std::span<double> values,
               const Access& access) {
  if (lines.stride == 1) return access(bundle.first, values);
  for (int64_t k = 0; k < lines.length; ++k) {
    access(bundle.first + k * lines.stride, values.subspan(k * bundle.width, bundle.width));
  }
}

// Calls normalize(values, length, width) on all bundles.
template <typename Normalize>
Outputs EvaluateLines(const EvaluateContext& context, const Normalize& normalize) {
  const Tensor& input = *context.inputs[0];
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(context.attributes.GetInt("axis", -1), input.rank()));
  const Lines lines(input.dims(), axis);
  NewTensor result(context.output_types[0]);
  const int64_t grain = (int64_t{1} << 14) / std::max<int64_t>(lines.length, 1) + 1;
  ParallelFor(lines.bundles(), grain, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> values;
    for (int64_t i = begin; i < end; ++i) {
      const Lines::Bundle bundle = lines.At(i);
      values.resize(lines.length * bundle.width);
      VisitRuns(lines, bundle, values,
                [&](int64_t at, std::span<double> part) { input.Load(at, part); });
      normalize(std::span(values), lines.length, bundle.width);
      VisitRuns(lines, bundle, values, [&](int64_t at, std::span<const double> part) {
        model::Store(input.dtype(), result.bytes, at, part);
      });
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

// Combines the numbers of a line, which are `width` apart. Lines of neighbours, which most are, are
// combined in several strands, whose operations do not wait for each other.
template <typename Combine>
double Reduce(std::span<const double> values, int64_t width, double first, Combine combine) {
  constexpr size_t kStrands = 8;
  double strands[kStrands];
  std::ranges::fill(strands, first);
  size_t i = 0;
  if (width == 1) {
    for (; i + kStrands <= values.size(); i += kStrands) {
      for (size_t k = 0; k < kStrands; ++k) strands[k] = combine(strands[k], values[i + k]);
    }
  }
  for (; i < values.size(); i += width) strands[0] = combine(strands[0], values[i]);
  for (size_t k = 1; k < kStrands; ++k) strands[0] = combine(strands[0], strands[k]);
  return strands[0];
}

// Calls change(number) for each number of a line.
template <typename Change>
void ChangeLine(std::span<double> values, int64_t width, const Change& change) {
  constexpr size_t kBlock = 16;  // Compilers vectorize loops of a fixed size without -O3.
  size_t i = 0;
  if (width == 1) {
    for (; i + kBlock <= values.size(); i += kBlock) {
      for (size_t k = 0; k < kBlock; ++k) values[i + k] = change(values[i + k]);
    }
  }
  for (; i < values.size(); i += width) values[i] = change(values[i]);
}

// Subtracts the largest element of each line, so that no exponential overflows.
void SubtractLargest(std::span<double> values, int64_t length, int64_t width) {
  if (length == 0) return;
  for (int64_t j = 0; j < width; ++j) {
    const std::span<double> line = values.subspan(j);
    const double largest =
        Reduce(line, width, line[0], [](double a, double b) { return MaxOf(a, b); });
    ChangeLine(line, width, [largest](double value) { return value - largest; });
  }
}

Outputs EvaluateSoftmax(const EvaluateContext& context) {
  return EvaluateLines(context, [](std::span<double> values, int64_t length, int64_t width) {
    SubtractLargest(values, length, width);
    ExponentialsOf(values);
    for (int64_t j = 0; length > 0 && j < width; ++j) {
      const std::span<double> line = values.subspan(j);
      const double sum = Reduce(line, width, 0, std::plus<double>());
      ChangeLine(line, width, [sum](double value) { return value / sum; });
    }
  });
}

Outputs EvaluateLogSoftmax(const EvaluateContext& context) {
  return EvaluateLines(context, [](std::span<double> values, int64_t length, int64_t width) {
    SubtractLargest(values, length, width);
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < length; ++k) sum += std::exp(values[k * width + j]);
      const double log_sum = std::log(sum);
      for (int64_t k = 0; k < length; ++k) values[k * width + j] -= log_sum;
    }
  });
}

// --- Bounds ---

Interval BoundsOfSoftmax(const BoundsContext& context) {
  if (!context.has(0)) return AnythingOf(context.dtype());
  const bool safe =
      context.in(0).finite() || (context.inputs[0].softmax_safe && IsAlongLastAxis(context));
  return InType(context.dtype(), {0, 1, !safe}, kFunctionSlack);
}

Interval BoundsOfLogSoftmax(const BoundsContext& context) {
  const Interval x = context.in(0);
  // Among NaN, ONNX Runtime (1.31, float64) makes numbers above 0 of the others.
  if (x.may_be_nan) return {};
  if (!x.bounded()) return {-Interval::kInfinity, 0, true};
  // The logarithm of the number of elements is below this.
  constexpr double kLogCount = 64;
  return InType(context.dtype(), {x.low - x.high - kLogCount, 0, false}, kFunctionSlack);
}

// --- Rows ---

OpDef SoftmaxRow(const char* name, LayoutRole layout, BoundsFn bounds, EvaluateFn evaluate) {
  return {
      .name = name,
      .op_class = OpClass::kNormalization,
      .min_inputs = 1,
      .max_inputs = 1,
      .max_outputs = 1,
      .since_opset = 13,
      .layout = layout,
      .numerics = {.bounds = bounds, .own_rounding = true, .at_infinity = AtInfinity::kEndsIfBelow},
      .attributes = {{"axis", AttributeDef::Kind::kInt, int64_t{-1}}},
      .axes = {"axis"},
      .infer = InferAlongAxis,
      .evaluate = evaluate};
}

}  // namespace

std::span<const OpDef> SoftmaxOps() {
  static const auto& rows = *new std::vector<OpDef>{
      SoftmaxRow("Softmax", LayoutRole::kTied, BoundsOfSoftmax, EvaluateSoftmax),
      SoftmaxRow("LogSoftmax", LayoutRole::kPlain, BoundsOfLogSoftmax, EvaluateLogSoftmax),
  };
  return rows;
}

}  // namespace quotient::ops
