// Operators that repeat elements: Expand, Tile.

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/dims.h"
#include "core/ops/families.h"
#include "core/ops/strided_copy.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Ints;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

// --- Expand ---

// The target shape as elements, from the attribute or the input.
std::optional<Elements> ExpandTarget(const model::AttributeMap& attributes,
                                     std::span<const InferInput> inputs) {
  if (const Ints* shape = attributes.FindInts("shape")) {
    return Elements(shape->begin(), shape->end());
  }
  const Elements* elements = InputAt(inputs, 1).elements;
  return elements == nullptr ? std::nullopt : std::optional(*elements);
}

absl::StatusOr<Shape> ExpandedShape(const Shape& data, const Elements& target) {
  for (const Element& element : target) {
    if (element.is_number() && element.number() < 0) {
      return ShapeError("Expand to a dimension of ", element.number());
    }
  }
  return BroadcastShapes(data, AsShape(target));
}

// Sets the attribute to the output's shape, with 1 where a symbolic dimension is kept. The
// attribute stays absent if it would have to name a symbol.
absl::Status CanonicalizeExpand(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  const std::optional<Elements> target = ExpandTarget(node.attributes, inputs);
  if (!target.has_value() || data == nullptr || !data->has_rank()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const Shape shape, ExpandedShape(*data->shape, *target));
  const size_t from_target = shape.size() - target->size();
  const size_t from_data = shape.size() - data->shape->size();
  Ints attribute;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool asks_one = i < from_target || (*target)[i - from_target].Is(1);
    const bool stays = i >= from_data && SameDim(shape[i], data->dim(i - from_data));
    if (shape[i].is_number()) {
      attribute.push_back(shape[i].number());
    } else if (asks_one || stays) {
      attribute.push_back(1);
    } else {
      return absl::OkStatus();
    }
  }
  node.attributes.Set("shape", std::move(attribute));
  if (node.inputs.size() > 1) node.inputs[1] = model::ValueId();
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferExpand(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  const std::optional<Elements> target = ExpandTarget(context.attributes, context.inputs);
  if (data == nullptr) return result;
  if (!target.has_value()) {
    if (const std::optional<int64_t> rank = TargetRank(context, 1)) {
      result.types[0].shape = Shape(std::max(data->size(), static_cast<size_t>(*rank)));
    }
    return result;
  }
  QUOTIENT_ASSIGN_OR_RETURN(result.types[0].shape, ExpandedShape(*data, *target));
  const Elements* elements = ElementsAt(context, 0);
  if (elements != nullptr && elements->size() == 1 && IsSmall(result.types[0])) {
    result.elements = Elements(result.types[0].elements(), (*elements)[0]);
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateExpand(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  NewTensor result(context.output_types[0]);
  const std::vector<int64_t>& dims = result.tensor.dims();
  Copy({.dims = dims,
        .from_strides = BroadcastStrides(input.dims(), dims),
        .to_strides = RowMajorStrides(dims)},
       input.bytes(), result.bytes, ElementBytes(input.dtype()), context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

// --- Tile ---

absl::StatusOr<InferResult> InferTile(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return result;
  const Ints* repeats = context.attributes.FindInts("repeats");
  const Elements* elements = ElementsAt(context, 1);
  result.types[0].shape = Shape(data->size());
  if (repeats == nullptr && elements == nullptr) return result;
  const Elements counts =
      repeats != nullptr ? Elements(repeats->begin(), repeats->end()) : *elements;
  if (counts.size() != data->size()) {
    return ShapeError("Tile of rank ", data->size(), " with ", counts.size(), " repeats");
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].is_number() && counts[i].number() < 0) return ShapeError("Tile a negative count");
    (*result.types[0].shape)[i] = MulDims((*data)[i], counts[i].AsDim());
  }
  return result;
}

// Every axis becomes two, of which the outer one counts the repeats.
absl::StatusOr<std::vector<Tensor>> EvaluateTile(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  NewTensor result(context.output_types[0]);
  const Ints& repeats = *context.attributes.FindInts("repeats");
  const std::vector<int64_t> strides = RowMajorStrides(input.dims());
  std::vector<int64_t> dims, from;
  for (size_t i = 0; i < repeats.size(); ++i) {
    dims.insert(dims.end(), {repeats[i], input.dims()[i]});
    from.insert(from.end(), {0, strides[i]});
  }
  Copy({.dims = dims, .from_strides = from, .to_strides = RowMajorStrides(dims)}, input.bytes(),
       result.bytes, ElementBytes(input.dtype()), context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

}  // namespace

std::span<const OpDef> RepeatOps() {
  using ParameterKind = Parameter::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Expand",
       .op_class = OpClass::kMove,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 8,
       .layout = LayoutRole::kTied,
       .exact = true,
       .movement = Movement::kFromFirst,
       .parameters = {{1, "shape", ParameterKind::kInts}},
       .infer = InferExpand,
       .evaluate = EvaluateExpand,
       .canonicalize = CanonicalizeExpand},
      {.name = "Tile",
       .op_class = OpClass::kMove,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 6,
       .exact = true,
       .movement = Movement::kFromFirst,
       .parameters = {{1, "repeats", ParameterKind::kInts}},
       .infer = InferTile,
       .evaluate = EvaluateTile},
  };
  return rows;
}

}  // namespace quotient::ops
