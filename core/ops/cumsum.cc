// CumSum: running sums along an axis.

#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/certain.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::Node;
using model::Shape;
using model::Tensor;

absl::StatusOr<InferResult> InferCumSum(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  if (const Shape* data = ShapeAt(context, 0)) result.types[0].shape = *data;
  return result;
}

// A line along the axis starts at every index of the other axes.
struct Lines {
  int64_t length;
  int64_t stride;
  int64_t outer;
};

template <typename T>
Tensor RunningSums(const EvaluateContext& context, const Lines& lines) {
  const Tensor& input = *context.inputs[0];
  const bool exclusive = context.attributes.GetInt("exclusive", 0) != 0;
  const bool reverse = context.attributes.GetInt("reverse", 0) != 0;
  std::vector<T> values(static_cast<size_t>(input.elements()));
  input.Load(0, std::span(values));
  for (int64_t line = 0; line < lines.outer * lines.stride; ++line) {
    const int64_t start = line / lines.stride * lines.length * lines.stride + line % lines.stride;
    T sum = 0;
    for (int64_t i = 0; i < lines.length; ++i) {
      T& value = values[start + (reverse ? lines.length - 1 - i : i) * lines.stride];
      const T next = WrapAdd(sum, value);
      value = exclusive ? sum : next;
      sum = next;
    }
  }
  NewTensor result(context.output_types[0]);
  model::Store(input.dtype(), result.bytes, 0, std::span<const T>(values));
  return std::move(result.tensor);
}

absl::StatusOr<std::vector<Tensor>> EvaluateCumSum(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  const std::span<const int64_t> dims = input.dims();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(context.attributes.GetInt("axis", 0), input.rank()));
  const Lines lines{dims[axis], Count(dims.subspan(axis + 1)), Count(dims.first(axis))};
  return std::vector<Tensor>{model::IsFloat(input.dtype()) ? RunningSums<double>(context, lines)
                                                           : RunningSums<int64_t>(context, lines)};
}

Interval BoundsOfCumSum(const BoundsContext& context) {
  return InType(context.dtype(), SumOf(context.dtype(), context.in(0), kUnknownCount));
}

}  // namespace

std::span<const OpDef> CumSumOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "CumSum",
       .op_class = OpClass::kMove,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 11,
       .numerics = {.bounds = BoundsOfCumSum},
       .parameters = {{1, "axis", Parameter::Kind::kInt}},
       .attributes = {{"exclusive", Kind::kInt, Attribute(int64_t{0})},
                      {"reverse", Kind::kInt, Attribute(int64_t{0})}},
       .axes = {"axis"},
       .infer = InferCumSum,
       .evaluate = EvaluateCumSum,
       .is_certain = IsCertainIfTame},
  };
  return rows;
}

}  // namespace quotient::ops
