// Cast, CastLike: the same elements as another type.

#include <algorithm>
#include <limits>
#include <vector>

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

// CastLike is Cast once the type is known.
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

template <typename T>
Tensor Convert(const Tensor& input, const TensorType& type, int threads) {
  const Tensor* inputs[] = {&input};
  return EvaluateElementwise<T>(inputs, type, threads,
                                [](std::span<const std::span<const T>> operands, std::span<T> out) {
                                  std::copy(operands[0].begin(), operands[0].end(), out.begin());
                                });
}

absl::StatusOr<std::vector<Tensor>> EvaluateCast(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  const TensorType& type = context.output_types[0];
  if (input.dtype() == type.dtype) return std::vector<Tensor>{input};
  // Unsigned 64-bit numbers that become floats are the only integers that int64_t gets wrong.
  const bool as_double = model::IsFloat(input.dtype()) ||
                         (input.dtype() == DType::kUint64 && model::IsFloat(type.dtype));
  return std::vector<Tensor>{as_double ? Convert<double>(input, type, context.threads)
                                       : Convert<int64_t>(input, type, context.threads)};
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
       .attributes = {{"to", Kind::kInt, {}}, {"saturate", Kind::kInt, Attribute(int64_t{1})}},
       .infer = InferCast,
       .evaluate = EvaluateCast,
       .accepts = IsCastToComputable},
      {.name = "CastLike",
       .op_class = OpClass::kUnary,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 15,
       .attributes = {{"saturate", Kind::kInt, Attribute(int64_t{1})}},
       .infer = InferCastLike,
       .evaluate = EvaluateCast,
       .canonicalize = CanonicalizeCastLike},
  };
  return rows;
}

}  // namespace quotient::ops
