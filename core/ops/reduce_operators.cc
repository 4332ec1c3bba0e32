// Reductions along axes: Reduce*, ArgMax, ArgMin.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/certain.h"
#include "core/ops/dims.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/reduction.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::DType;
using model::Ints;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Outputs = absl::StatusOr<std::vector<Tensor>>;

// --- Axes ---

Ints AllAxes(int64_t rank) {
  Ints axes(rank);
  for (int64_t i = 0; i < rank; ++i) axes[i] = i;
  return axes;
}

// The axes along which a canonical node reduces a tensor of that rank.
absl::StatusOr<Ints> ReducedAxes(const model::AttributeMap& attributes, int64_t rank) {
  const Ints* axes = attributes.FindInts("axes");
  if (axes != nullptr && !axes->empty()) return NormalizeAxes(*axes, rank);
  return attributes.GetInt("noop_with_empty_axes", 0) != 0 ? Ints() : AllAxes(rank);
}

// The same of ArgMax and ArgMin.
absl::StatusOr<Ints> ReducedAxis(const model::AttributeMap& attributes, int64_t rank) {
  return NormalizeAxes({attributes.GetInt("axis", 0)}, rank);
}

// The shape without the axes, or with 1 in their place.
Shape ReducedShape(const Shape& shape, const Ints& axes, bool keep_axes) {
  Shape reduced;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), int64_t(axis))) {
      reduced.push_back(shape[axis]);
    } else if (keep_axes) {
      reduced.push_back(1);
    }
  }
  return reduced;
}

bool KeepsAxes(const model::AttributeMap& attributes) {
  return attributes.GetInt("keepdims", 1) != 0;
}

// --- Reduce* ---

// For axes that are still an input: the rank is known only if the axes are kept.
absl::StatusOr<InferResult> InferWithUnknownAxes(const InferContext& context, DType dtype) {
  const Shape* shape = ShapeAt(context, 0);
  if (shape == nullptr || !KeepsAxes(context.attributes)) return UnknownShape(dtype);
  return OneOutput(TensorType(dtype, Shape(shape->size())));
}

template <Domain domain>
absl::StatusOr<InferResult> InferReduce(const InferContext& context) {
  const DType dtype = DTypeAt(context, 0);
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(domain, dtype));
  if (HasInput(context, 1)) return InferWithUnknownAxes(context, dtype);
  const Shape* shape = ShapeAt(context, 0);
  if (shape == nullptr) return UnknownShape(dtype);
  QUOTIENT_ASSIGN_OR_RETURN(const Ints axes, ReducedAxes(context.attributes, shape->size()));
  return OneOutput(TensorType(dtype, ReducedShape(*shape, axes, KeepsAxes(context.attributes))));
}

// Also computes the known product of a whole vector, as in sizes computed from a shape.
absl::StatusOr<InferResult> InferReduceProd(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(InferResult result, InferReduce<Domain::kNumeric>(context));
  const Elements* elements = ElementsAt(context, 0);
  const bool whole = result.types[0].is_static() && result.types[0].elements() == 1;
  if (elements == nullptr || elements->empty() || !whole) return result;
  Element product(1);
  for (const Element& element : *elements) product = MulElements(product, element);
  result.elements = Elements{product};
  return result;
}

// Lists the axes as soon as the rank is known. Keeps noop_with_empty_axes only where it has an
// effect.
absl::Status CanonicalizeReduce(model::Node& node, std::span<const InferInput> inputs) {
  if (InputAt(inputs, 1).type != nullptr) return absl::OkStatus();
  const Ints* axes = node.attributes.FindInts("axes");
  if (axes != nullptr && axes->empty()) {
    node.attributes.Erase("axes");
    axes = nullptr;
  }
  if (axes != nullptr) {
    Ints sorted = *axes;
    std::sort(sorted.begin(), sorted.end());
    node.attributes.Set("axes", std::move(sorted));
    node.attributes.Erase("noop_with_empty_axes");
    return absl::OkStatus();
  }
  const TensorType* type = InputAt(inputs, 0).type;
  const bool reduces = node.attributes.GetInt("noop_with_empty_axes", 0) == 0;
  if (reduces && type != nullptr && type->has_rank() && type->rank() > 0) {
    node.attributes.Set("axes", AllAxes(type->rank()));
  }
  return absl::OkStatus();
}

template <Reduction reduction>
Outputs EvaluateReduce(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  QUOTIENT_ASSIGN_OR_RETURN(const Ints axes, ReducedAxes(context.attributes, input.rank()));
  return std::vector<Tensor>{
      Reduce(reduction, input, axes, context.output_types[0], context.threads)};
}

// An upper bound on the magnitude of every output, however the elements are grouped.
template <Reduction reduction>
double OutputBound(const Tensor& input) {
  double bound = reduction == Reduction::kProd ? 1 : 0;
  for (double value : input.AsDoubles()) {
    const double magnitude = std::abs(value);
    if constexpr (reduction == Reduction::kProd) {
      bound *= std::max(1.0, magnitude);
    } else {
      bound += reduction == Reduction::kSumSquare ? magnitude * magnitude : magnitude;
    }
  }
  return bound;
}

// Integers that overflow wrap in one runtime and saturate in another; some runtimes reduce integers
// in double or float32; and roots and logarithms of integers are rounded in different ways.
// Products of floats can overflow on the way to a small result.
template <Reduction reduction>
bool ReducesCertainly(const EvaluateContext& context, std::span<const Tensor> outputs) {
  const Tensor& input = *context.inputs[0];
  if constexpr (reduction == Reduction::kMax || reduction == Reduction::kMin) {
    return IsCertainIfOrdered(context, outputs);
  }
  if (model::IsFloat(input.dtype())) {
    constexpr double kMostProduct = 0x1p100;
    return reduction != Reduction::kProd || OutputBound<Reduction::kProd>(input) < kMostProduct;
  }
  if (reduction == Reduction::kL2 || reduction == Reduction::kLogSum ||
      reduction == Reduction::kLogSumExp) {
    return false;
  }
  const bool is_narrow = input.dtype() == DType::kInt32 || input.dtype() == DType::kUint32;
  return OutputBound<reduction>(input) < (is_narrow ? 0x1p31 : 0x1p53);
}

// ONNX's texts disagree on what these do to each element when they reduce along no axis.
bool ReducesForSure(const model::Node& node) {
  return node.attributes.GetInt("noop_with_empty_axes", 0) == 0;
}

// --- ArgMax, ArgMin ---

absl::StatusOr<InferResult> InferArg(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kNumeric, DTypeAt(context, 0)));
  const Shape* shape = ShapeAt(context, 0);
  if (shape == nullptr) return UnknownShape(DType::kInt64);
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(context.attributes.GetInt("axis", 0), shape->size()));
  if ((*shape)[axis].Is(0)) return ShapeError("an index along an axis of no elements");
  return OneOutput(
      TensorType(DType::kInt64, ReducedShape(*shape, {axis}, KeepsAxes(context.attributes))));
}

// Index of the extreme element of a line; among equal ones the first or the last.
template <typename T, bool largest, typename Compared>
int64_t ExtremeIndex(std::span<const T> line, bool last) {
  size_t best = 0;
  for (size_t i = 1; i < line.size(); ++i) {
    const auto value = static_cast<Compared>(line[i]);
    const auto extreme = static_cast<Compared>(line[best]);
    const bool better = largest ? value > extreme : value < extreme;
    if (better || (last && value == extreme)) best = i;
  }
  return static_cast<int64_t>(best);
}

// Elements are loaded as T and compared as Compared.
template <typename T, bool largest, typename Compared = T>
Outputs ArgAs(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(context.attributes.GetInt("axis", 0), input.rank()));
  const bool last = context.attributes.GetInt("select_last_index", 0) != 0;
  const int64_t length = input.dims()[axis];
  const int64_t inner = RowMajorStrides(input.dims())[axis];
  NewTensor result(context.output_types[0]);
  ParallelFor(input.elements() / length, 256, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<T> line(length);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i / inner * length * inner + i % inner;
      for (int64_t k = 0; k < length; ++k) {
        input.Load(from + k * inner, std::span(line).subspan(k, 1));
      }
      const int64_t index = ExtremeIndex<T, largest, Compared>(line, last);
      model::Store(DType::kInt64, result.bytes, i, std::span<const int64_t>(&index, 1));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

template <bool largest>
Outputs EvaluateArg(const EvaluateContext& context) {
  const DType dtype = context.inputs[0]->dtype();
  if (model::IsFloat(dtype)) return ArgAs<double, largest>(context);
  if (dtype == DType::kUint64) return ArgAs<int64_t, largest, uint64_t>(context);
  return ArgAs<int64_t, largest>(context);
}

// --- Bounds ---

ElementCount CountReduced(const BoundsContext& context) {
  constexpr ElementCount kUnknown{kUnknownCount, true};
  const TensorType& type = *context.inputs[0].type;
  if (!type.has_rank() || context.inputs.size() > 1) return kUnknown;
  const absl::StatusOr<Ints> axes = ReducedAxes(context.attributes, type.rank());
  if (!axes.ok()) return kUnknown;
  ElementCount count;
  for (const int64_t axis : *axes) count.Times(type, static_cast<int>(axis));
  return count;
}

Interval BoundsOfSum(const BoundsContext& context) {
  const Interval sum = SumOf(context.dtype(), context.in(0), CountReduced(context).most);
  return InType(context.dtype(), sum);
}
Interval BoundsOfMean(const BoundsContext& context) {
  return MeanOf(context, CountReduced(context));
}
// Nothing is the largest of no elements.
Interval BoundsOfExtreme(const BoundsContext& context) {
  return CountReduced(context).may_be_zero ? AnythingOf(context.dtype()) : context.in(0);
}

template <Reduction reduction>
Numerics FactsOf() {
  if (reduction == Reduction::kSum) return {.bounds = BoundsOfSum};
  if (reduction == Reduction::kMean) return {.bounds = BoundsOfMean};
  if (reduction == Reduction::kMax) {
    return {.bounds = BoundsOfExtreme, .at_infinity = AtInfinity::kEndsIfBelow};
  }
  if (reduction == Reduction::kMin) {
    return {.bounds = BoundsOfExtreme, .at_infinity = AtInfinity::kEnds};
  }
  if (reduction == Reduction::kLogSum) {
    return {.singular_at_zero = true, .is_at_pole = HasZeroAt<0>};
  }
  if (reduction == Reduction::kLogSumExp) return {.at_infinity = AtInfinity::kEndsIfBelow};
  return {};
}

// --- Rows ---

template <Reduction reduction>
OpDef ReduceRow(const char* name, InferFn infer, bool identity_on_elements) {
  using Kind = AttributeDef::Kind;
  OpDef row{.name = name,
            .op_class = OpClass::kReduction,
            .min_inputs = 1,
            .max_inputs = 2,
            .max_outputs = 1,
            .since_opset = 1,
            .layout = LayoutRole::kAny,
            .exact = reduction == Reduction::kMax || reduction == Reduction::kMin,
            .numerics = FactsOf<reduction>(),
            .reduced_axes = ReducedAxes,
            .parameters = {{1, "axes", Parameter::Kind::kInts}},
            .attributes = {{"axes", Kind::kInts, std::nullopt},
                           {"keepdims", Kind::kInt, int64_t{1}},
                           {"noop_with_empty_axes", Kind::kInt, int64_t{0}}},
            .axes = {"axes"},
            .infer = infer,
            .evaluate = EvaluateReduce<reduction>,
            .canonicalize = CanonicalizeReduce,
            .is_certain = ReducesCertainly<reduction>};
  if (!identity_on_elements) row.accepts = ReducesForSure;
  return row;
}

template <bool largest>
OpDef ArgRow(const char* name) {
  using Kind = AttributeDef::Kind;
  return {.name = name,
          .op_class = OpClass::kReduction,
          .min_inputs = 1,
          .max_inputs = 1,
          .max_outputs = 1,
          .since_opset = 1,
          .layout = LayoutRole::kAny,
          .numerics = {.bounds = Counting, .at_infinity = AtInfinity::kEnds},
          .reduced_axes = ReducedAxis,
          .attributes = {{"axis", Kind::kInt, int64_t{0}},
                         {"keepdims", Kind::kInt, int64_t{1}},
                         {"select_last_index", Kind::kInt, int64_t{0}}},
          .axes = {"axis"},
          .infer = InferArg,
          .evaluate = EvaluateArg<largest>};
}

}  // namespace

std::span<const OpDef> ReduceOps() {
  constexpr InferFn numeric = InferReduce<Domain::kNumeric>;
  constexpr InferFn any = InferReduce<Domain::kAny>;  // Including bool.
  static const auto& rows = *new std::vector<OpDef>{
      ReduceRow<Reduction::kMean>("ReduceMean", numeric, true),
      ReduceRow<Reduction::kSum>("ReduceSum", numeric, true),
      ReduceRow<Reduction::kMax>("ReduceMax", any, true),
      ReduceRow<Reduction::kMin>("ReduceMin", any, true),
      ReduceRow<Reduction::kProd>("ReduceProd", InferReduceProd, true),
      ReduceRow<Reduction::kL1>("ReduceL1", numeric, false),
      ReduceRow<Reduction::kL2>("ReduceL2", numeric, false),
      ReduceRow<Reduction::kSumSquare>("ReduceSumSquare", numeric, false),
      ReduceRow<Reduction::kLogSum>("ReduceLogSum", numeric, false),
      ReduceRow<Reduction::kLogSumExp>("ReduceLogSumExp", numeric, false),
      ArgRow<true>("ArgMax"),
      ArgRow<false>("ArgMin"),
  };
  return rows;
}

}  // namespace quotient::ops
