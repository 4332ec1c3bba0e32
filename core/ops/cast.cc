// Cast and CastLike: the same elements as another type.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/ops/bounds.h"
#include "core/ops/elementwise.h"
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

Elements CastElements(Elements elements, DType to) {
  if (to != DType::kBool) return elements;
  for (Element& element : elements) {
    element = element.is_number() ? Element(element.number() != 0) : Element();
  }
  return elements;
}

InferResult InferCastTo(const InferContext& context, DType to) {
  InferResult result = UnknownShape(to);
  if (const Shape* shape = ShapeAt(context, 0)) result.types[0].shape = *shape;
  if (const Elements* elements = ElementsAt(context, 0)) {
    result.elements = CastElements(*elements, to);
  }
  return result;
}

absl::StatusOr<InferResult> InferCast(const InferContext& context) {
  const auto to = model::DTypeFromOnnx(static_cast<int32_t>(context.attributes.GetInt("to", 0)));
  return InferCastTo(context, to.value_or(DType::kUndefined));
}

bool IsCastToComputable(const Node& node) {
  const int64_t to = node.attributes.GetInt("to", 0);
  if (to < 0 || to > std::numeric_limits<int32_t>::max()) return false;
  const auto dtype = model::DTypeFromOnnx(static_cast<int32_t>(to));
  return dtype.has_value() && model::IsComputable(*dtype);
}

// CastLike becomes Cast once the type is known.
absl::Status CanonicalizeCastLike(Node& node, std::span<const InferInput> inputs) {
  const TensorType* like = InputAt(inputs, 1).type;
  if (like == nullptr || !model::IsComputable(like->dtype)) return absl::OkStatus();
  node.op = "Cast";
  node.attributes.Set("to", static_cast<int64_t>(like->dtype));
  node.inputs.resize(1);
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferCastLike(const InferContext& context) {
  return InferCastTo(context, DTypeAt(context, 1));
}

// The range of an integer type in doubles. The largest 64-bit number is not a double, so the upper
// bound is the next number.
struct IntegerLimits {
  double least;
  double beyond;  // The first number above the largest.
};

IntegerLimits LimitsOf(DType dtype) {
  const int bits = model::DTypeBits(dtype);
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 ||
                         dtype == DType::kInt32 || dtype == DType::kInt64;
  return is_signed ? IntegerLimits{-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1)}
                   : IntegerLimits{0, std::ldexp(1, bits)};
}

// ONNX leaves casts of floats that the integer type cannot hold undefined. On x86, ONNX Runtime
// converts to a wider type and drops the upper bits, so that 300 becomes 44 as uint8; other
// machines saturate.
bool CastsCertainly(const EvaluateContext& context, std::span<const Tensor>) {
  const Tensor& input = *context.inputs[0];
  const DType to = context.output_types[0].dtype;
  if (!model::IsFloat(input.dtype()) || !model::IsInteger(to)) return true;
  const IntegerLimits limits = LimitsOf(to);
  const std::vector<double> values = input.AsDoubles();
  return std::all_of(values.begin(), values.end(), [&](double value) {
    return std::trunc(value) >= limits.least && value < limits.beyond;  // False for NaN.
  });
}

template <typename T>
Tensor Convert(const Tensor& input, const TensorType& type, int threads) {
  const Tensor* inputs[] = {&input};
  return EvaluateElementwise<T>(inputs, type, threads,
                                [](std::span<const std::span<const T>> operands, std::span<T> out) {
                                  std::copy(operands[0].begin(), operands[0].end(), out.begin());
                                });
}

// Converts like x86: a value that the wider type, int32 or int64, cannot hold becomes its lowest
// number, of which the low bits are kept.
int64_t Truncate(double value, DType to) {
  constexpr double kInt32 = 0x1p31;
  constexpr double kInt64 = 0x1p63;
  const bool is_wide = model::DTypeBits(to) == 64 || to == DType::kUint32;
  const double limit = is_wide ? kInt64 : kInt32;
  // The upper half of uint64 is converted separately.
  if (to == DType::kUint64 && value >= kInt64 && value < 2 * kInt64) {
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (to == DType::kUint64 && value >= kInt64) return 0;
  const double whole = std::trunc(value);
  return static_cast<int64_t>(whole >= -limit && whole < limit ? whole : -limit);
}

Tensor ConvertToInteger(const Tensor& input, const TensorType& type, int threads) {
  std::vector<double> values = input.AsDoubles();
  NewTensor result(type);
  ParallelFor(input.elements(), 1 << 15, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t number = Truncate(values[static_cast<size_t>(i)], type.dtype);
      model::Store(type.dtype, result.bytes, i, std::span<const int64_t>(&number, 1));
    }
  });
  return std::move(result.tensor);
}

absl::StatusOr<std::vector<Tensor>> EvaluateCast(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  const TensorType& type = context.output_types[0];
  if (input.dtype() == type.dtype) return std::vector<Tensor>{input};
  if (model::IsFloat(input.dtype()) && model::IsInteger(type.dtype)) {
    return std::vector<Tensor>{ConvertToInteger(input, type, context.threads)};
  }
  // int64_t is wrong only for 64-bit unsigned numbers that become floats.
  const bool as_double = model::IsFloat(input.dtype()) ||
                         (input.dtype() == DType::kUint64 && model::IsFloat(type.dtype));
  return std::vector<Tensor>{as_double ? Convert<double>(input, type, context.threads)
                                       : Convert<int64_t>(input, type, context.threads)};
}

Interval BoundsOfCast(const BoundsContext& context) {
  if (context.dtype() == DType::kBool) return AnythingOf(DType::kBool);
  const Interval x = context.in(0);
  if (model::IsFloat(context.dtype())) return InType(context.dtype(), x);
  return InType(context.dtype(), {std::trunc(x.low), std::trunc(x.high), x.may_be_nan});
}

}  // namespace

std::span<const OpDef> CastOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Cast",
       .op_class = OpClass::kUnary,
       .min_inputs = 1,
       .max_inputs = 1,
       .max_outputs = 1,
       .since_opset = 6,
       .layout = LayoutRole::kTied,
       .movement = Movement::kInOrder,
       .numerics = {.bounds = BoundsOfCast},
       .attributes = {{"to", Kind::kInt, {}}, {"saturate", Kind::kInt, Attribute(int64_t{1})}},
       .infer = InferCast,
       .evaluate = EvaluateCast,
       .accepts = IsCastToComputable,
       .is_certain = CastsCertainly},
      {.name = "CastLike",
       .op_class = OpClass::kUnary,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 15,
       .layout = LayoutRole::kTied,
       .movement = Movement::kInOrder,
       .numerics = {.bounds = BoundsOfCast},
       .attributes = {{"saturate", Kind::kInt, Attribute(int64_t{1})}},
       .infer = InferCastLike,
       .evaluate = EvaluateCast,
       .canonicalize = CanonicalizeCastLike,
       .is_certain = CastsCertainly},
  };
  return rows;
}

}  // namespace quotient::ops
