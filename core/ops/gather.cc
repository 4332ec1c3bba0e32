// Gather, GatherElements: they read slices, or single elements, at computed positions of an axis.

#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/families.h"
#include "core/ops/indices.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::Shape;
using model::Tensor;

// --- Gather ---

std::optional<Elements> GatheredElements(const InferContext& context) {
  const Elements* data = ElementsAt(context, 0);
  const Elements* indices = ElementsAt(context, 1);
  const Shape* shape = ShapeAt(context, 0);
  if (data == nullptr || indices == nullptr || shape->size() != 1) return std::nullopt;
  const int64_t size = static_cast<int64_t>(data->size());
  Elements result;
  for (const Element& index : *indices) {
    if (!index.is_number() || index.number() < -size || index.number() >= size) {
      return std::nullopt;
    }
    result.push_back((*data)[index.number() + (index.number() < 0 ? size : 0)]);
  }
  return result;
}

absl::StatusOr<InferResult> InferGather(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  const Shape* indices = ShapeAt(context, 1);
  if (data == nullptr || indices == nullptr) return result;
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(context.attributes.GetInt("axis", 0),
                                                              static_cast<int64_t>(data->size())));
  Shape shape(data->begin(), data->begin() + axis);
  shape.insert(shape.end(), indices->begin(), indices->end());
  shape.insert(shape.end(), data->begin() + axis + 1, data->end());
  result.types[0].shape = std::move(shape);
  result.elements = GatheredElements(context);
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateGather(const EvaluateContext& context) {
  const Tensor& data = *context.inputs[0];
  const size_t axis = static_cast<size_t>(context.attributes.GetInt("axis", 0));
  const std::span<const int64_t> dims = data.dims();
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                            ReadIndices(*context.inputs[1], dims[axis]));
  const int64_t outer = Count(dims.first(axis));
  std::vector<int64_t> sources;
  sources.reserve(static_cast<size_t>(outer) * indices.size());
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t index : indices) sources.push_back(i * dims[axis] + index);
  }
  NewTensor result(context.output_types[0]);
  const size_t block = static_cast<size_t>(Count(dims.subspan(axis + 1))) *
                       static_cast<size_t>(ElementBytes(data.dtype()));
  CopyBlocks(data.bytes(), sources, block, result.bytes, context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

// --- GatherElements ---

// Fails if the indices are longer than the data along another axis than `except`. Inference does
// that, and not only evaluation, so that no sizes are assumed which the node cannot take.
absl::Status CheckInside(const Shape& inner, const Shape& outer, size_t except) {
  for (size_t i = 0; i < inner.size(); ++i) {
    if (i == except || !inner[i].is_number() || !outer[i].is_number()) continue;
    if (inner[i].number() > outer[i].number()) {
      return ShapeError("indices reach beyond axis ", i, " of the data");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferGatherElements(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  const Shape* indices = ShapeAt(context, 1);
  if (indices == nullptr) return result;
  if (data != nullptr && data->size() != indices->size()) {
    return ShapeError("GatherElements of rank ", data->size(), " with indices of rank ",
                      indices->size());
  }
  QUOTIENT_ASSIGN_OR_RETURN(
      const int64_t axis,
      NormalizeAxis(context.attributes.GetInt("axis", 0), static_cast<int64_t>(indices->size())));
  if (data != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(CheckInside(*indices, *data, static_cast<size_t>(axis)));
  }
  result.types[0].shape = *indices;
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateGatherElements(const EvaluateContext& context) {
  const Tensor& data = *context.inputs[0];
  const std::vector<int64_t>& dims = context.inputs[1]->dims();
  const size_t axis = static_cast<size_t>(context.attributes.GetInt("axis", 0));
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<int64_t> sources,
                            ReadIndices(*context.inputs[1], data.dims()[axis]));
  std::vector<int64_t> strides = RowMajorStrides(data.dims());
  const int64_t along = std::exchange(strides[axis], 0);
  size_t at = 0;
  for (BoxIndex index(dims); index.valid(); index.Next(), ++at) {
    sources[at] = sources[at] * along + index.Offset(strides);
  }
  NewTensor result(context.output_types[0]);
  CopyBlocks(data.bytes(), sources, static_cast<size_t>(ElementBytes(data.dtype())), result.bytes,
             context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

}  // namespace

std::span<const OpDef> GatherOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Gather",
       .op_class = OpClass::kMove,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 1,
       .exact = true,
       .movement = Movement::kFromFirst,
       .numerics = {.requirements = {{1, Requirement::Kind::kIndices}}},
       .attributes = {{"axis", Kind::kInt, Attribute(int64_t{0})}},
       .axes = {"axis"},
       .infer = InferGather,
       .evaluate = EvaluateGather},
      {.name = "GatherElements",
       .op_class = OpClass::kMove,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 11,
       .exact = true,
       .movement = Movement::kFromFirst,
       .numerics = {.requirements = {{1, Requirement::Kind::kIndices}}},
       .attributes = {{"axis", Kind::kInt, Attribute(int64_t{0})}},
       .axes = {"axis"},
       .infer = InferGatherElements,
       .evaluate = EvaluateGatherElements},
  };
  return rows;
}

}  // namespace quotient::ops
