#include "core/ops/bounds.h"

#include <algorithm>

#include "core/ops/op.h"

namespace quotient::ops {

using model::DType;

Interval BoundsOf(const OpDef& op, const BoundsContext& context) {
  if (op.numerics.bounds != nullptr) return op.numerics.bounds(context);
  switch (op.movement) {
    case Movement::kNone:
      return AnythingOf(context.dtype());
    case Movement::kFromAll:
      return HullOfInputs(context, 0, context.inputs.size());
    default:
      return context.in(0);
  }
}

Interval FirstOrZero(const BoundsContext& context) { return Hull(context.in(0), {0, 0, false}); }

Interval Counting(const BoundsContext& context) {
  return {0, AnythingOf(context.dtype()).high, false};
}

Interval HullOfInputs(const BoundsContext& context, size_t first, size_t last) {
  Interval hull = context.in(first);
  for (size_t i = first + 1; i < last; ++i) hull = Hull(hull, context.in(i));
  return hull;
}

double SizeAt(const BoundsContext& context, size_t input, int axis) {
  const model::TensorType* const type = context.inputs[input].type;
  if (type == nullptr || !type->has_rank()) return kUnknownCount;
  if (axis < 0) axis += type->rank();
  if (axis < 0 || axis >= type->rank() || !type->dim(axis).is_number()) return kUnknownCount;
  return static_cast<double>(type->dim(axis).number());
}

bool IsAlongLastAxis(const BoundsContext& context) {
  if (!context.output.has_rank()) return false;
  const int64_t axis = context.attributes.GetInt("axis", -1);
  return axis == -1 || axis == context.output.rank() - 1;
}

void ElementCount::Times(const model::TensorType& type, int axis) {
  if (!type.dim(axis).is_number()) {
    most = kUnknownCount;
    may_be_zero = true;
    return;
  }
  most = std::min(most * static_cast<double>(type.dim(axis).number()), kUnknownCount);
  may_be_zero |= type.dim(axis).number() == 0;
}

ElementCount CountAxes(const model::TensorType& type, int begin, int end) {
  ElementCount count;
  for (int axis = begin; axis < end; ++axis) count.Times(type, axis);
  return count;
}

Interval MeanOf(const BoundsContext& context, const ElementCount& count) {
  if (!model::IsFloat(context.dtype())) return AnythingOf(context.dtype());
  const Interval x = context.in(0);
  const Interval sum = SumOf(context.dtype(), x, count.most);
  if (count.may_be_zero || !sum.finite()) {
    // The mean of no elements is NaN; that of numbers that are not negative overflows at worst.
    const Interval rising{0, Interval::kInfinity, count.may_be_zero || x.may_be_nan};
    return x.nonnegative() ? rising : Interval();
  }
  const double spread = std::max((sum.magnitude() - count.most * x.magnitude()) / count.most, 0.0);
  return InType(context.dtype(),
                {x.nonnegative() ? 0 : x.low - spread, x.high <= 0 ? 0 : x.high + spread, false},
                kFunctionSlack);
}

// Algorithms other than the plain one (Winograd's) reach further on the way.
Interval SumOfProducts(const BoundsContext& context, double terms) {
  constexpr double kOnTheWay = 1024;
  const DType dtype = context.dtype();
  const Interval product = InType(dtype, Product(context.in(0), context.in(1)));
  const double reach = terms * product.magnitude();
  const bool far = dtype != DType::kFloat16;
  if (!model::IsFloat(dtype) || !(reach * (far ? kOnTheWay : 1) < LargestOf(dtype))) {
    return AnythingOf(dtype);
  }
  return InType(dtype, SumOf(dtype, product, terms));
}

}  // namespace quotient::ops
