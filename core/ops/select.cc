// Operators that choose between elements: Where and Trilu.

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::DType;
using model::Shape;
using model::Tensor;
using model::TensorType;

// --- Where ---

std::optional<Elements> SelectedElements(const InferContext& context, const TensorType& type) {
  const Elements* condition = ElementsAt(context, 0);
  const Elements* yes = ElementsAt(context, 1);
  const Elements* no = ElementsAt(context, 2);
  if (condition == nullptr || yes == nullptr || no == nullptr || !IsSmall(type)) {
    return std::nullopt;
  }
  const std::vector<int64_t> dims = type.dims();
  std::vector<std::vector<int64_t>> strides;
  for (const InferInput& input : context.inputs) {
    strides.push_back(BroadcastStrides(input.type->dims(), dims));
  }
  Elements result;
  for (BoxIndex i(dims); i.valid(); i.Next()) {
    const Element& choice = (*condition)[i.Offset(strides[0])];
    const Element& a = (*yes)[i.Offset(strides[1])];
    const Element& b = (*no)[i.Offset(strides[2])];
    result.push_back(choice.is_number() ? (choice.number() != 0 ? a : b) : a == b ? a : Element());
  }
  return result;
}

absl::StatusOr<InferResult> InferWhere(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 1, 3));
  InferResult result = UnknownShape(dtype);
  QUOTIENT_ASSIGN_OR_RETURN(result.types[0].shape, BroadcastInputs(context.inputs));
  result.elements = SelectedElements(context, result.types[0]);
  return result;
}

// int64_t carries the bits of integers, double those of floats; both are exact.
template <typename T>
Tensor Select(const EvaluateContext& context) {
  const auto choose = [](std::span<const std::span<const T>> operands, std::span<T> out) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = operands[0][i] != 0 ? operands[1][i] : operands[2][i];
    }
  };
  return EvaluateElementwise<T>(context.inputs, context.output_types[0], context.threads, choose);
}

absl::StatusOr<std::vector<Tensor>> EvaluateWhere(const EvaluateContext& context) {
  const bool floats = model::IsFloat(context.output_types[0].dtype);
  return std::vector<Tensor>{floats ? Select<double>(context) : Select<int64_t>(context)};
}

// --- Trilu ---

absl::StatusOr<InferResult> InferTrilu(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return result;
  if (data->size() < 2) return ShapeError("Trilu of a tensor of rank ", data->size());
  result.types[0].shape = *data;
  return result;
}

// Keeps the columns [first, last) of each row. The rest stays zero.
absl::StatusOr<std::vector<Tensor>> EvaluateTrilu(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  NewTensor result(context.output_types[0]);
  const std::span<const int64_t> dims = input.dims();
  const int64_t rows = dims[dims.size() - 2];
  const int64_t columns = dims[dims.size() - 1];
  const bool upper = context.attributes.GetInt("upper", 1) != 0;
  // All diagonals outside the matrix are equivalent.
  const int64_t diagonal = std::clamp(context.attributes.GetInt("k", 0), -rows - 1, columns + 1);
  const int64_t bytes = ElementBytes(input.dtype());
  const int64_t all_rows = Count(dims.first(dims.size() - 1));
  for (int64_t i = 0; i < all_rows; ++i) {
    const int64_t on_diagonal = i % rows + diagonal;
    const int64_t first = upper ? std::clamp<int64_t>(on_diagonal, 0, columns) : 0;
    const int64_t last = upper ? columns : std::clamp<int64_t>(on_diagonal + 1, 0, columns);
    const auto from = input.bytes().begin() + (i * columns + first) * bytes;
    std::copy(from, from + (last - first) * bytes,
              result.bytes.begin() + (i * columns + first) * bytes);
  }
  return std::vector<Tensor>{std::move(result.tensor)};
}

Interval BoundsOfWhere(const BoundsContext& context) { return HullOfInputs(context, 1, 3); }

}  // namespace

std::span<const OpDef> SelectOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Where",
       .op_class = OpClass::kBinary,
       .min_inputs = 3,
       .max_inputs = 3,
       .max_outputs = 1,
       .since_opset = 9,
       .layout = LayoutRole::kTied,
       .exact = true,
       .numerics = {.bounds = BoundsOfWhere, .at_infinity = AtInfinity::kStays},
       .infer = InferWhere,
       .evaluate = EvaluateWhere},
      {.name = "Trilu",
       .op_class = OpClass::kMove,
       .min_inputs = 1,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 14,
       .exact = true,
       .numerics = {.bounds = FirstOrZero},
       .parameters = {{1, "k", Parameter::Kind::kInt}},
       .attributes = {{"upper", Kind::kInt, Attribute(int64_t{1})},
                      {"k", Kind::kInt, Attribute(int64_t{0})}},
       .infer = InferTrilu,
       .evaluate = EvaluateTrilu},
  };
  return rows;
}

}  // namespace quotient::ops
