// Pools with windows that slide over each channel of each image, and pools over whole images.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/reduction.h"
#include "core/ops/support.h"
#include "core/ops/window.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::DType;
using model::Ints;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Outputs = absl::StatusOr<std::vector<Tensor>>;

absl::Status CheckRank(const Shape& shape) {
  if (shape.size() >= 3) return absl::OkStatus();
  return ShapeError("a pool over a tensor of rank ", shape.size(), "; it takes at least 3");
}

// --- MaxPool, AveragePool ---

absl::StatusOr<Ints> KernelShape(const AttributeMap& attributes) {
  const Ints* kernel = attributes.FindInts("kernel_shape");
  if (kernel == nullptr) return ShapeError("attribute kernel_shape is missing");
  return *kernel;
}

absl::StatusOr<Window> WindowOver(std::span<const model::Dim> plane,
                                  const AttributeMap& attributes) {
  QUOTIENT_ASSIGN_OR_RETURN(const Ints kernel, KernelShape(attributes));
  return ReadWindow(attributes, kernel, plane);
}

bool CeilMode(const AttributeMap& attributes) { return attributes.GetInt("ceil_mode", 0) != 0; }

// Whether the window is larger than the padded input, so that it has no positions. ONNX Runtime
// runs such pools; its division rounds towards zero, so with a stride there is one position after
// all (FloorDim says why symbols need not care).
bool IsTooLarge(const Window& window, size_t axis, const model::Dim& input) {
  return window.pads_known && input.is_number() &&
         input.number() < window.Extent(axis) - window.Padding(axis);
}

absl::StatusOr<model::Dim> PooledDim(const Window& window, size_t axis, const model::Dim& input,
                                     bool ceil_mode) {
  if (!IsTooLarge(window, axis, input)) return OutputDim(window, axis, input, ceil_mode);
  const bool is_empty =
      window.strides[axis] == 1 && input.number() + 1 == window.Extent(axis) - window.Padding(axis);
  return is_empty ? model::Dim(0) : model::Dim();
}

template <Domain domain>
absl::StatusOr<InferResult> InferPool(const InferContext& context) {
  const DType dtype = DTypeAt(context, 0);
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, dtype));
  const Shape* input = ShapeAt(context, 0);
  if (input == nullptr) return UnknownShape(dtype);
  QUOTIENT_RETURN_IF_ERROR(CheckRank(*input));
  QUOTIENT_ASSIGN_OR_RETURN(const Window window,
                            WindowOver(SpatialDims(*input), context.attributes));
  Shape shape = *input;
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    QUOTIENT_ASSIGN_OR_RETURN(
        shape[axis + 2], PooledDim(window, axis, (*input)[axis + 2], CeilMode(context.attributes)));
  }
  return OneOutput(TensorType(dtype, std::move(shape)));
}

// Whether runtimes disagree on auto_pad here. ONNX Runtime ignores dilations when it computes the
// padding; in ceil_mode it fails or reads outside the input, and ONNX's reference does not support
// it.
bool IsAutoPadDisputed(const AttributeMap& attributes) {
  const Ints dilations = attributes.GetInts("dilations");
  return attributes.GetString("auto_pad", "NOTSET").starts_with("SAME") &&
         (CeilMode(attributes) ||
          std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }));
}

bool KnowsPool(const model::Node& node) { return !IsAutoPadDisputed(node.attributes); }

absl::Status CanonicalizePool(model::Node& node, std::span<const InferInput> inputs) {
  if (IsAutoPadDisputed(node.attributes)) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const Ints kernel, KernelShape(node.attributes));
  const TensorType* type = InputAt(inputs, 0).type;
  Shape shape(kernel.size() + 2);
  if (type != nullptr && type->has_rank()) shape = *type->shape;
  QUOTIENT_RETURN_IF_ERROR(CheckRank(shape));
  QUOTIENT_ASSIGN_OR_RETURN(const Window window,
                            ReadWindow(node.attributes, kernel, SpatialDims(shape)));
  WriteWindow(window, node.attributes);
  node.attributes.Erase("storage_order");  // Affects only the indices, which are another output.
  return absl::OkStatus();
}

// The common part of evaluating pools: calls pool(plane, out) for each channel of each image.
template <typename Pool>
Outputs EvaluatePlanes(const EvaluateContext& context, const Pool& pool) {
  const Tensor& input = *context.inputs[0];
  const TensorType& type = context.output_types[0];
  const Ints plane_dims = SpatialDims(input.dims());
  const Shape plane_shape(plane_dims.begin(), plane_dims.end());
  QUOTIENT_ASSIGN_OR_RETURN(const Window window, WindowOver(plane_shape, context.attributes));
  const WindowTaps taps(window, plane_dims, SpatialDims(type.dims()));
  NewTensor result(type);
  const auto run = pool(window, taps);
  const int64_t planes = input.dims()[0] * input.dims()[1];
  const int64_t grain = (int64_t{1} << 15) / std::max<int64_t>(1, taps.plane_size()) + 1;
  ParallelFor(planes, grain, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> plane(taps.plane_size()), seen(taps.positions()), out(taps.positions());
    for (int64_t i = begin; i < end; ++i) {
      input.Load(i * taps.plane_size(), std::span(plane));
      run(plane.data(), std::span(seen), std::span(out));
      model::Store(type.dtype, result.bytes, i * taps.positions(), std::span<const double>(out));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

// Runtimes differ on a window that lies in the padding alone. ONNX Runtime makes the lowest finite
// number of it, or an average of 0.
bool PoolsCertainly(const EvaluateContext& context, std::span<const Tensor>) {
  const model::TensorType input = context.inputs[0]->type();
  const absl::StatusOr<Window> window = WindowOver(SpatialDims(*input.shape), context.attributes);
  return window.ok() && AlwaysReads(*window, SpatialDims(*input.shape));
}

Outputs EvaluateMaxPool(const EvaluateContext& context) {
  return EvaluatePlanes(context, [](const Window&, const WindowTaps& taps) {
    return [&taps](const double* plane, std::span<double> seen, std::span<double> out) {
      constexpr double kPadding = -std::numeric_limits<double>::infinity();
      std::fill(out.begin(), out.end(), kPadding);
      for (int64_t tap = 0; tap < taps.taps(); ++tap) {
        taps.Gather(plane, tap, 0, kPadding, seen);
        for (size_t i = 0; i < out.size(); ++i) out[i] = MaxOf(out[i], seen[i]);
      }
    };
  });
}

// The number of taps that count at each position along an axis: those inside the input, or inside
// the input with its padding. With ceil_mode a window may reach beyond the padding, too.
std::vector<double> TapsThatCount(const Window& window, size_t axis, int64_t input,
                                  int64_t positions, bool include_padding) {
  const int64_t low = include_padding ? -window.pads_begin[axis] : 0;
  const int64_t high = input + (include_padding ? window.pads_end[axis] : 0);
  std::vector<double> counts(positions, 0);
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
      const int64_t at =
          position * window.strides[axis] + tap * window.dilations[axis] - window.pads_begin[axis];
      counts[position] += at >= low && at < high;
    }
  }
  return counts;
}

// The divisor of the sum at each position.
std::vector<double> Divisors(const Window& window, const Ints& input, const Ints& positions,
                             bool include_padding) {
  std::vector<double> divisors{1};
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const std::vector<double> counts =
        TapsThatCount(window, axis, input[axis], positions[axis], include_padding);
    std::vector<double> products;
    products.reserve(divisors.size() * counts.size());
    for (double divisor : divisors) {
      for (double count : counts) products.push_back(divisor * count);
    }
    divisors = std::move(products);
  }
  return divisors;
}

Outputs EvaluateAveragePool(const EvaluateContext& context) {
  const bool include_padding = context.attributes.GetInt("count_include_pad", 0) != 0;
  return EvaluatePlanes(context, [&](const Window& window, const WindowTaps& taps) {
    std::vector<double> divisors =
        Divisors(window, SpatialDims(context.inputs[0]->dims()),
                 SpatialDims(context.output_types[0].dims()), include_padding);
    return [&taps, divisors = std::move(divisors)](const double* plane, std::span<double> seen,
                                                   std::span<double> out) {
      std::fill(out.begin(), out.end(), 0.0);
      for (int64_t tap = 0; tap < taps.taps(); ++tap) {
        taps.Gather(plane, tap, 0, 0, seen);
        for (size_t i = 0; i < out.size(); ++i) out[i] += seen[i];
      }
      for (size_t i = 0; i < out.size(); ++i) out[i] /= divisors[i];
    };
  });
}

// --- GlobalAveragePool, GlobalMaxPool ---

absl::StatusOr<InferResult> InferGlobalPool(const InferContext& context) {
  const DType dtype = DTypeAt(context, 0);
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, dtype));
  const Shape* input = ShapeAt(context, 0);
  if (input == nullptr) return UnknownShape(dtype);
  QUOTIENT_RETURN_IF_ERROR(CheckRank(*input));
  Shape shape = *input;
  std::fill(shape.begin() + 2, shape.end(), model::Dim(1));
  return OneOutput(TensorType(dtype, std::move(shape)));
}

absl::StatusOr<Ints> SpatialAxes(const AttributeMap&, int64_t rank) {
  Ints axes;
  for (int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

template <Reduction reduction>
Outputs EvaluateGlobalPool(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  QUOTIENT_ASSIGN_OR_RETURN(const Ints axes, SpatialAxes(context.attributes, input.rank()));
  return std::vector<Tensor>{
      Reduce(reduction, input, axes, context.output_types[0], context.threads)};
}

// --- Bounds ---

// Whether every window of a pool is sure to hold an element.
bool EveryWindowReads(const BoundsContext& context) {
  const TensorType& type = *context.inputs[0].type;
  if (!type.has_rank() || type.rank() < 3) return false;
  const std::span<const model::Dim> plane = SpatialDims(*type.shape);
  const absl::StatusOr<Window> window = WindowOver(plane, context.attributes);
  return window.ok() && AlwaysReads(*window, plane);
}

Interval BoundsOfAveragePool(const BoundsContext& context) {
  if (CeilMode(context.attributes)) return AnythingOf(context.dtype());
  ElementCount count;
  for (const int64_t size : context.attributes.GetInts("kernel_shape", {})) {
    count.most = std::min(count.most * static_cast<double>(size), kUnknownCount);
  }
  // The mean of no elements is 0 or NaN.
  return Hull(MeanOf(context, count), {0, 0, !EveryWindowReads(context)});
}

// The largest element of windows. ONNX Runtime starts with the lowest number of the type (of some
// floats the lowest finite one, of others -infinity) and keeps it where all elements are NaN or
// -infinity, and where there are none: `has_elements` says that each window is sure to have some.
Interval LargestOfWindows(const BoundsContext& context, bool has_elements) {
  const Interval x = context.in(0);
  const double least = AnythingOf(context.dtype()).low;
  const double lowest = model::IsFloat(context.dtype()) ? -LargestOf(context.dtype()) : least;
  const bool may_keep_lowest = !has_elements || x.may_be_nan || x.low < lowest;
  return may_keep_lowest ? Hull(x, {least, lowest, false}) : x;
}

Interval BoundsOfMaxPool(const BoundsContext& context) {
  if (CeilMode(context.attributes)) return AnythingOf(context.dtype());
  return LargestOfWindows(context, EveryWindowReads(context));
}

Interval BoundsOfGlobalAverage(const BoundsContext& context) {
  const TensorType& type = *context.inputs[0].type;
  if (!type.has_rank()) return AnythingOf(context.dtype());
  return MeanOf(context, CountAxes(type, 2, type.rank()));
}

Interval BoundsOfGlobalMax(const BoundsContext& context) {
  const TensorType& type = *context.inputs[0].type;
  if (!type.has_rank() || CountAxes(type, 2, type.rank()).may_be_zero) {
    return AnythingOf(context.dtype());
  }
  return LargestOfWindows(context, /*has_elements=*/true);
}

// --- Rows ---

OpDef WindowRow(const char* name, int since_opset, InferFn infer, EvaluateFn evaluate,
                const char* own_attribute, bool exact, Numerics numerics) {
  using Kind = AttributeDef::Kind;
  return {.name = name,
          .op_class = OpClass::kWindow,
          .min_inputs = 1,
          .max_inputs = 1,
          .max_outputs = 1,
          .since_opset = since_opset,
          .layout = LayoutRole::kChannelsLast,
          .exact = exact,
          .numerics = std::move(numerics),
          .attributes = {{"auto_pad", Kind::kString, std::string("NOTSET")},
                         {"ceil_mode", Kind::kInt, int64_t{0}},
                         {"dilations", Kind::kInts, std::nullopt},
                         {"kernel_shape", Kind::kInts, std::nullopt},
                         {"pads", Kind::kInts, std::nullopt},
                         {"strides", Kind::kInts, std::nullopt},
                         {own_attribute, Kind::kInt, int64_t{0}}},
          .infer = infer,
          .evaluate = evaluate,
          .canonicalize = CanonicalizePool,
          .accepts = KnowsPool,
          .is_certain = PoolsCertainly};
}

template <Reduction reduction>
OpDef GlobalRow(const char* name, BoundsFn bounds) {
  return {.name = name,
          .op_class = OpClass::kReduction,
          .min_inputs = 1,
          .max_inputs = 1,
          .max_outputs = 1,
          .since_opset = 1,
          .layout = LayoutRole::kAny,
          .exact = reduction == Reduction::kMax,
          .numerics = {.bounds = bounds},
          .reduced_axes = SpatialAxes,
          .infer = InferGlobalPool,
          .evaluate = EvaluateGlobalPool<reduction>};
}

}  // namespace

std::span<const OpDef> PoolOps() {
  static const auto& rows = *new std::vector<OpDef>{
      WindowRow("MaxPool", 10, InferPool<Domain::kNumeric>, EvaluateMaxPool, "storage_order",
                /*exact=*/true,
                {.bounds = BoundsOfMaxPool, .at_infinity = AtInfinity::kEndsIfBelow}),
      WindowRow("AveragePool", 10, InferPool<Domain::kFloat>, EvaluateAveragePool,
                "count_include_pad", /*exact=*/false, {.bounds = BoundsOfAveragePool}),
      GlobalRow<Reduction::kMean>("GlobalAveragePool", BoundsOfGlobalAverage),
      GlobalRow<Reduction::kMax>("GlobalMaxPool", BoundsOfGlobalMax),
  };
  return rows;
}

}  // namespace quotient::ops
