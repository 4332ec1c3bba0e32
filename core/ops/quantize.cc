// QuantizeLinear and DequantizeLinear: floats as steps of 8 to 32 bits. A scale and a zero point
// serve the whole tensor, or each has an element per position of an axis.
//
// ONNX leaves the precision open. As in ONNX Runtime, both compute in float32: a quotient is
// rounded to float32 before it is rounded to a whole number, half to even.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::DType;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

constexpr int64_t kDefaultAxis = 1;
constexpr int64_t kBlock = 1024;

// --- Types ---

bool IsOneElement(const TensorType& type) { return type.is_static() && type.elements() == 1; }

// Fails with MODEL_SHAPE unless input `index`, a scale or a zero point, may have this shape.
absl::Status CheckSteps(const InferContext& context, size_t index) {
  const Shape* const steps = ShapeAt(context, index);
  if (steps == nullptr || steps->empty()) return absl::OkStatus();
  if (steps->size() > 1) {
    return ShapeError("input ", index, " of shape ", ToString(*steps), " is no vector");
  }
  const Shape* const shape = ShapeAt(context, 0);
  if (shape == nullptr || (*steps)[0].Is(1)) return absl::OkStatus();
  const TensorType* const scale = context.inputs[1].type;
  if (scale != nullptr && IsOneElement(*scale)) {
    if (!(*steps)[0].is_number()) return absl::OkStatus();
    return ShapeError("one scale, but ", (*steps)[0].number(), " zero points");
  }
  QUOTIENT_ASSIGN_OR_RETURN(
      const int64_t axis,
      NormalizeAxis(context.attributes.GetInt("axis", kDefaultAxis), std::ssize(*shape)));
  const model::Dim& size = (*shape)[static_cast<size_t>(axis)];
  if (!size.is_number() || !(*steps)[0].is_number() || size == (*steps)[0]) return absl::OkStatus();
  return ShapeError("input ", index, " of shape ", ToString(*steps), " has no element for each of ",
                    size.number(), " positions");
}

// The shape of input 0 with elements of that type.
absl::StatusOr<InferResult> InferSteps(const InferContext& context, DType dtype) {
  QUOTIENT_RETURN_IF_ERROR(CheckSteps(context, 1));
  QUOTIENT_RETURN_IF_ERROR(CheckSteps(context, 2));
  InferResult result = UnknownShape(dtype);
  if (const Shape* shape = ShapeAt(context, 0)) result.types[0].shape = *shape;
  return result;
}

absl::StatusOr<InferResult> InferQuantize(const InferContext& context) {
  const bool has_zero_point = HasInput(context, 2);
  return InferSteps(context, has_zero_point ? DTypeAt(context, 2) : DType::kUint8);
}

absl::StatusOr<InferResult> InferDequantize(const InferContext& context) {
  const DType zero_point = DTypeAt(context, 2);
  const DType dtype = DTypeAt(context, 0);
  if (zero_point != DType::kUndefined && dtype != DType::kUndefined && zero_point != dtype) {
    return ShapeError("the zero point is of another type than the elements");
  }
  return InferSteps(context, DTypeAt(context, 1));
}

// The axis has no meaning if one scale serves the whole tensor.
absl::Status CanonicalizeSteps(Node& node, std::span<const InferInput> inputs) {
  const TensorType* const scale = InputAt(inputs, 1).type;
  const TensorType* const x = InputAt(inputs, 0).type;
  if (scale != nullptr && IsOneElement(*scale)) {
    node.attributes.Erase("axis");
  } else if (x != nullptr && x->has_rank() && node.attributes.Has("axis")) {
    QUOTIENT_ASSIGN_OR_RETURN(
        int64_t axis, NormalizeAxis(node.attributes.GetInt("axis", kDefaultAxis), x->rank()));
    node.attributes.Set("axis", axis);
  }
  return absl::OkStatus();
}

// --- Evaluation ---

// The scale and the zero point of each element of a tensor.
class Steps {
 public:
  explicit Steps(const EvaluateContext& context) : scale_(context.inputs[1]->AsDoubles()) {
    const Tensor& x = *context.inputs[0];
    const bool has_zero_point = context.inputs.size() > 2 && context.inputs[2] != nullptr;
    zero_point_ = has_zero_point ? context.inputs[2]->AsInts() : std::vector<int64_t>{0};
    if (scale_.size() == 1 && zero_point_.size() == 1) return;
    const auto axis = static_cast<size_t>(context.attributes.GetInt("axis", kDefaultAxis));
    for (size_t i = axis + 1; i < x.dims().size(); ++i) inner_ *= x.dims()[i];
    channels_ = static_cast<size_t>(x.dims()[axis]);
  }

  float scale(int64_t element) const { return static_cast<float>(scale_[At(element, scale_)]); }
  int64_t zero_point(int64_t element) const { return zero_point_[At(element, zero_point_)]; }

 private:
  template <typename T>
  size_t At(int64_t element, const std::vector<T>& values) const {
    return values.size() == 1 ? 0 : static_cast<size_t>(element / inner_) % channels_;
  }

  std::vector<double> scale_;
  std::vector<int64_t> zero_point_;
  int64_t inner_ = 1;  // Elements per position of the axis.
  size_t channels_ = 1;
};

// Saturates. NaN becomes the lowest number, as in ONNX Runtime.
double QuantizeOne(float x, float scale, int64_t zero_point, const Interval& numbers) {
  const double steps = std::nearbyint(x / scale);
  if (std::isnan(steps)) return numbers.low;
  return std::clamp(steps + static_cast<double>(zero_point), numbers.low, numbers.high);
}

absl::StatusOr<std::vector<Tensor>> EvaluateQuantize(const EvaluateContext& context) {
  const Tensor& x = *context.inputs[0];
  const Steps steps(context);
  const Interval numbers = AnythingOf(context.output_types[0].dtype);
  NewTensor result(context.output_types[0]);
  ParallelFor(x.elements(), 1 << 14, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> values(static_cast<size_t>(std::min(kBlock, end - begin)));
    for (int64_t first = begin; first < end; first += kBlock) {
      const auto block =
          std::span(values).first(static_cast<size_t>(std::min(kBlock, end - first)));
      x.Load(first, block);
      for (size_t i = 0; i < block.size(); ++i) {
        const int64_t element = first + static_cast<int64_t>(i);
        block[i] = QuantizeOne(static_cast<float>(block[i]), steps.scale(element),
                               steps.zero_point(element), numbers);
      }
      model::Store(context.output_types[0].dtype, result.bytes, first,
                   std::span<const double>(block));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

absl::StatusOr<std::vector<Tensor>> EvaluateDequantize(const EvaluateContext& context) {
  const Tensor& x = *context.inputs[0];
  const Steps steps(context);
  NewTensor result(context.output_types[0]);
  ParallelFor(x.elements(), 1 << 14, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> values(static_cast<size_t>(std::min(kBlock, end - begin)));
    std::vector<double> floats(values.size());
    for (int64_t first = begin; first < end; first += kBlock) {
      const auto count = static_cast<size_t>(std::min(kBlock, end - first));
      x.Load(first, std::span(values).first(count));
      for (size_t i = 0; i < count; ++i) {
        const int64_t element = first + static_cast<int64_t>(i);
        const auto offset = static_cast<float>(values[i] - steps.zero_point(element));
        floats[i] = offset * steps.scale(element);
      }
      model::Store(context.output_types[0].dtype, result.bytes, first,
                   std::span<const double>(floats).first(count));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

// Runtimes compute 16-bit floats in different precisions, and do not agree on NaN.
bool QuantizesCertainly(const EvaluateContext& context, std::span<const Tensor>) {
  const auto is_ordinary = [](double value) { return std::isfinite(value); };
  const auto is_scale = [](double value) {
    return value >= std::numeric_limits<float>::min() && std::isfinite(value);
  };
  return context.inputs[0]->dtype() == DType::kFloat32 &&
         std::ranges::all_of(context.inputs[0]->AsDoubles(), is_ordinary) &&
         std::ranges::all_of(context.inputs[1]->AsDoubles(), is_scale);
}

// --- Bounds ---

// The possible zero points.
Interval ZeroPoints(const BoundsContext& context) {
  return context.has(2) ? context.in(2) : Interval{0, 0, false};
}

// The result is a whole number, so the rounding of the quotient moves a bound by one at most.
Interval BoundsOfQuantize(const BoundsContext& context) {
  const Interval all = AnythingOf(context.dtype());
  const Interval scale = context.in(1);
  const Interval x = context.in(0);
  if (!scale.positive() || !scale.finite() || !x.finite()) return all;
  const Interval steps =
      Sum(InType(DType::kFloat32, Quotient(x, scale), kFunctionSlack), ZeroPoints(context));
  return {std::clamp(std::floor(steps.low), all.low, all.high),
          std::clamp(std::ceil(steps.high), all.low, all.high), false};
}

Interval BoundsOfDequantize(const BoundsContext& context) {
  // Float32 is rounded once, if it holds the integers.
  constexpr double kExactInFloat32 = 1 << 24;
  const Interval& x = context.in(0);
  const bool is_rounded_once =
      context.dtype() == DType::kFloat32 && x.low >= -kExactInFloat32 && x.high <= kExactInFloat32;
  const double slack = is_rounded_once ? 0 : kFunctionSlack;
  return InType(context.dtype(), Product(Sum(x, Negative(ZeroPoints(context))), context.in(1)),
                slack);
}

OpDef StepsRow(const char* name, InferFn infer, EvaluateFn evaluate) {
  return {.name = name,
          .op_class = OpClass::kUnary,
          .min_inputs = 2,
          .max_inputs = 3,
          .max_outputs = 1,
          .since_opset = 10,
          .layout = LayoutRole::kAny,
          .attributes = {{"axis", AttributeDef::Kind::kInt, Attribute(kDefaultAxis)}},
          .infer = infer,
          .evaluate = evaluate,
          .canonicalize = CanonicalizeSteps};
}

OpDef QuantizeRow() {
  OpDef row = StepsRow("QuantizeLinear", InferQuantize, EvaluateQuantize);
  row.numerics = {.bounds = BoundsOfQuantize, .step = true, .at_infinity = AtInfinity::kEnds};
  row.is_certain = QuantizesCertainly;
  return row;
}

OpDef DequantizeRow() {
  OpDef row = StepsRow("DequantizeLinear", InferDequantize, EvaluateDequantize);
  row.stays_in_model = true;
  row.numerics = {.bounds = BoundsOfDequantize};
  return row;
}

}  // namespace

std::span<const OpDef> QuantizeOps() {
  static const auto& rows = *new std::vector<OpDef>{QuantizeRow(), DequantizeRow()};
  return rows;
}

}  // namespace quotient::ops
