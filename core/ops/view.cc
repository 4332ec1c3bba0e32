// Views: the same elements in the same order with another shape.

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/ops/dims.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::Dim;
using model::Ints;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

// The input with another shape. Known elements are kept.
InferResult ViewOf(const InferContext& context, std::optional<Shape> shape) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  result.types[0].shape = std::move(shape);
  if (const Elements* elements = ElementsAt(context, 0)) result.elements = *elements;
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateView(const EvaluateContext& context) {
  return std::vector<Tensor>{context.inputs[0]->Reshaped(context.output_types[0].dims())};
}

// --- Identity, Dropout ---

absl::StatusOr<InferResult> InferIdentity(const InferContext& context) {
  const Shape* shape = ShapeAt(context, 0);
  return ViewOf(context, shape != nullptr ? std::optional(*shape) : std::nullopt);
}

// In inference, Dropout is the identity, and ratio and seed have no meaning. In training it is the
// identity if nothing is dropped.
absl::Status CanonicalizeDropout(Node& node, std::span<const InferInput> inputs) {
  const Tensor* ratio = InputAt(inputs, 1).constant;
  if (ratio != nullptr && ratio->elements() == 1 && ratio->GetDouble(0) == 0) {
    node.attributes.Set("training_mode", int64_t{0});
  }
  node.attributes.Erase("ratio");
  node.attributes.Erase("seed");
  if (node.inputs.size() > 1) node.inputs[1] = model::ValueId();
  return absl::OkStatus();
}

bool IsInferenceDropout(const Node& node) {
  return node.inputs.size() == 1 && node.attributes.GetInt("training_mode", 0) == 0;
}

// --- Reshape ---

// What a Reshape requests: its target, element by element.
struct ReshapeRequest {
  Elements target;
  bool allow_zero = false;

  bool copies(size_t i) const { return target[i].Is(0) && !allow_zero; }
};

// Returns nullopt if the target's elements are not known.
std::optional<ReshapeRequest> RequestOf(const model::AttributeMap& attributes,
                                        std::span<const InferInput> inputs) {
  ReshapeRequest request;
  request.allow_zero = attributes.GetInt("allowzero", 0) != 0;
  if (const Ints* shape = attributes.FindInts("shape")) {
    request.target.assign(shape->begin(), shape->end());
    return request;
  }
  const Elements* elements = InputAt(inputs, 1).elements;
  if (elements == nullptr) return std::nullopt;
  request.target = *elements;
  return request;
}

// The number of elements; nullopt if a dimension is not a number or the product overflows.
std::optional<int64_t> CountOf(const Shape& shape) {
  std::vector<int64_t> dims;
  for (const Dim& dim : shape) dims.push_back(dim.number());  // -1 if it is not a number.
  return CheckedProduct(dims);
}

// Whether an element may be no dimension: one that turns out to be 0 copies a dimension of the
// data, and if that is not 0 as well, a -1 elsewhere makes up for it.
bool MayCopy(const ReshapeRequest& request, size_t i, const Shape* data) {
  const Element& element = request.target[i];
  const bool copies_itself =
      data != nullptr && i < data->size() && SameDim((*data)[i], element.AsDim());
  return element.is_symbol() && !request.allow_zero && !copies_itself &&
         std::ranges::find(request.target, Element(-1)) != request.target.end();
}

// The output's shape. A dimension that is requested as -1, or the only unknown one, follows from
// the number of elements.
absl::StatusOr<Shape> ReshapedShape(const ReshapeRequest& request, const Shape* data) {
  Shape shape;
  int unknown = 0;
  int inferred = 0;
  size_t open = 0;
  for (size_t i = 0; i < request.target.size(); ++i) {
    const Element& element = request.target[i];
    Dim dim = element.AsDim();
    if (request.copies(i)) {
      if (data != nullptr && i >= data->size()) {
        return ShapeError("Reshape copies dimension ", i, " of a tensor of rank ", data->size());
      }
      dim = data != nullptr ? (*data)[i] : Dim();
    } else if (element.Is(-1)) {
      ++inferred;
    } else if (element.is_number() && element.number() < 0) {
      return ShapeError("Reshape to a dimension of ", element.number());
    } else if (MayCopy(request, i, data)) {
      dim = Dim();
    }
    if (dim.is_unknown()) {
      ++unknown;
      open = i;
    }
    shape.push_back(std::move(dim));
  }
  if (inferred > 1) return ShapeError("Reshape with more than one -1");
  if (data == nullptr || unknown > 1) return shape;
  if (unknown == 1) {
    Shape others = shape;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(open));
    shape[open] = DivideDims(*data, others);
  }
  const std::optional<int64_t> from = CountOf(*data);
  const std::optional<int64_t> to = CountOf(shape);
  // If the input has no elements, -1 may be any number.
  const bool has_symbol = std::ranges::any_of(shape, &Dim::is_symbol);
  const bool does_not_divide =
      !to.has_value() && !has_symbol && inferred == 1 && from.value_or(0) != 0;
  if (from.has_value() && (to.has_value() ? *to != *from : does_not_divide)) {
    return ShapeError("Reshape of ", model::ToString(*data), " to ", model::ToString(shape));
  }
  return shape;
}

// The attribute that requests `shape`, which came from `request`: numbers where they are known, 0
// for copied dimensions, -1 for an inferred one. Returns nullopt if no attribute can express the
// shape, or only one that fails for inputs for which the request does not: a copied dimension may
// be 0 when the model runs, and then a -1 that the request does not have is an error.
std::optional<Ints> ReshapeAttribute(const ReshapeRequest& request, const Shape& shape,
                                     const Shape& data, bool* allow_zero) {
  Ints attribute;
  bool has_inferred = false;
  bool has_new_inferred = false;
  bool has_zero = false;
  bool has_copy = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool same_axis = i < data.size() && SameDim(shape[i], data[i]);
    if (shape[i].is_number()) {
      attribute.push_back(shape[i].number());
      has_zero |= shape[i].Is(0) && !same_axis;
    } else if (same_axis || request.copies(i)) {
      attribute.push_back(0);
      has_copy = true;
    } else if (!has_inferred && (request.target[i].Is(-1) || shape[i].is_symbol())) {
      attribute.push_back(-1);
      has_inferred = true;
      has_new_inferred = !request.target[i].Is(-1);
    } else {
      return std::nullopt;
    }
  }
  if (has_zero && (has_copy || has_inferred)) return std::nullopt;
  if ((has_new_inferred || (has_inferred && request.allow_zero)) && has_copy) return std::nullopt;
  *allow_zero = has_zero;
  return attribute;
}

absl::Status CanonicalizeReshape(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  const std::optional<ReshapeRequest> request = RequestOf(node.attributes, inputs);
  if (!request.has_value() || data == nullptr || !data->has_rank()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(Shape shape, ReshapedShape(*request, &*data->shape));
  bool allow_zero = false;
  std::optional<Ints> attribute = ReshapeAttribute(*request, shape, *data->shape, &allow_zero);
  if (!attribute.has_value()) return absl::OkStatus();
  node.attributes.Set("shape", *std::move(attribute));
  node.attributes.Set("allowzero", int64_t{allow_zero});
  if (node.inputs.size() > 1) node.inputs[1] = model::ValueId();
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferReshape(const InferContext& context) {
  const std::optional<ReshapeRequest> request = RequestOf(context.attributes, context.inputs);
  if (request.has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(Shape shape, ReshapedShape(*request, ShapeAt(context, 0)));
    return ViewOf(context, std::move(shape));
  }
  const std::optional<int64_t> rank = TargetRank(context, 1);
  return ViewOf(context,
                rank.has_value() ? std::optional(Shape(static_cast<size_t>(*rank))) : std::nullopt);
}

// --- Flatten ---

// The axis may equal the rank; then everything goes into the rows.
absl::Status CanonicalizeFlatten(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  const int64_t axis = node.attributes.GetInt("axis", 1);
  if (data == nullptr || !data->has_rank() || axis == data->rank()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t normal, NormalizeAxis(axis, data->rank()));
  node.attributes.Set("axis", normal);
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferFlatten(const InferContext& context) {
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return ViewOf(context, Shape(2));
  const int64_t rank = static_cast<int64_t>(data->size());
  int64_t axis = context.attributes.GetInt("axis", 1);
  if (axis != rank) {
    QUOTIENT_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
  }
  Dim rows = 1;
  Dim columns = 1;
  for (int64_t i = 0; i < rank; ++i) {
    Dim& side = i < axis ? rows : columns;
    side = MulDims(side, (*data)[i]);
  }
  return ViewOf(context, Shape{rows, columns});
}

// --- Squeeze, Unsqueeze ---

// Without axes, all dimensions of 1 are removed; the axes become explicit once they are known. An
// empty list means the same, as in ONNX Runtime.
absl::Status CanonicalizeSqueeze(Node& node, std::span<const InferInput> inputs) {
  if (const Ints* axes = node.attributes.FindInts("axes"); axes != nullptr && !axes->empty()) {
    return absl::OkStatus();
  }
  node.attributes.Erase("axes");
  const TensorType* data = InputAt(inputs, 0).type;
  const bool by_input = InputAt(inputs, 1).type != nullptr;
  if (by_input || data == nullptr || !data->has_rank()) return absl::OkStatus();
  Ints axes;
  for (int i = 0; i < data->rank(); ++i) {
    if (!data->dim(i).is_number()) return absl::OkStatus();
    if (data->dim(i).Is(1)) axes.push_back(i);
  }
  node.attributes.Set("axes", std::move(axes));
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferSqueeze(const InferContext& context) {
  const Shape* data = ShapeAt(context, 0);
  const Ints* axes = context.attributes.FindInts("axes");
  if (data == nullptr || axes == nullptr) return ViewOf(context, std::nullopt);
  QUOTIENT_ASSIGN_OR_RETURN(const Ints sorted,
                            NormalizeAxes(*axes, static_cast<int64_t>(data->size())));
  Shape shape;
  size_t next = 0;
  for (size_t i = 0; i < data->size(); ++i) {
    if (next == sorted.size() || sorted[next] != static_cast<int64_t>(i)) {
      shape.push_back((*data)[i]);
      continue;
    }
    ++next;
    if ((*data)[i].is_number() && !(*data)[i].Is(1)) {
      return ShapeError("Squeeze of axis ", i, " of ", model::ToString(*data));
    }
  }
  return ViewOf(context, std::move(shape));
}

// The axes are those of the output.
absl::Status CanonicalizeUnsqueeze(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  const Ints* axes = node.attributes.FindInts("axes");
  if (data == nullptr || !data->has_rank() || axes == nullptr) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(
      Ints sorted, NormalizeAxes(*axes, data->rank() + static_cast<int64_t>(axes->size())));
  node.attributes.Set("axes", std::move(sorted));
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferUnsqueeze(const InferContext& context) {
  const Shape* data = ShapeAt(context, 0);
  const Ints* axes = context.attributes.FindInts("axes");
  if (data == nullptr || axes == nullptr) return ViewOf(context, std::nullopt);
  QUOTIENT_ASSIGN_OR_RETURN(
      const Ints sorted, NormalizeAxes(*axes, static_cast<int64_t>(data->size() + axes->size())));
  Shape shape = *data;
  for (int64_t axis : sorted) shape.insert(shape.begin() + axis, Dim(1));
  return ViewOf(context, std::move(shape));
}

}  // namespace

std::span<const OpDef> ViewOps() {
  using Kind = AttributeDef::Kind;
  using ParameterKind = Parameter::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Identity",
       .op_class = OpClass::kView,
       .min_inputs = 1,
       .max_inputs = 1,
       .max_outputs = 1,
       .since_opset = 1,
       .layout = LayoutRole::kTied,
       .exact = true,
       .movement = Movement::kCopy,
       .infer = InferIdentity,
       .evaluate = EvaluateView},
      {.name = "Dropout",
       .op_class = OpClass::kView,
       .min_inputs = 1,
       .max_inputs = 3,
       .max_outputs = 1,
       .since_opset = 7,
       .layout = LayoutRole::kTied,
       .exact = true,
       .movement = Movement::kCopy,
       .parameters = {{2, "training_mode", ParameterKind::kInt}},
       .attributes = {{"ratio", Kind::kFloat, {}},
                      {"seed", Kind::kInt, {}},
                      {"training_mode", Kind::kInt, Attribute(int64_t{0})}},
       .infer = InferIdentity,
       .evaluate = EvaluateView,
       .canonicalize = CanonicalizeDropout,
       .accepts = IsInferenceDropout},
      {.name = "Reshape",
       .op_class = OpClass::kView,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 5,
       .exact = true,
       .movement = Movement::kInOrder,
       .parameters = {{1, "shape", ParameterKind::kInts}},
       .attributes = {{"allowzero", Kind::kInt, Attribute(int64_t{0})}},
       .infer = InferReshape,
       .evaluate = EvaluateView,
       .canonicalize = CanonicalizeReshape},
      {.name = "Flatten",
       .op_class = OpClass::kView,
       .min_inputs = 1,
       .max_inputs = 1,
       .max_outputs = 1,
       .since_opset = 1,
       .exact = true,
       .movement = Movement::kInOrder,
       .attributes = {{"axis", Kind::kInt, Attribute(int64_t{1})}},
       .infer = InferFlatten,
       .evaluate = EvaluateView,
       .canonicalize = CanonicalizeFlatten},
      {.name = "Squeeze",
       .op_class = OpClass::kView,
       .min_inputs = 1,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 1,
       .exact = true,
       .movement = Movement::kInOrder,
       .parameters = {{1, "axes", ParameterKind::kInts}},
       .axes = {"axes"},
       .infer = InferSqueeze,
       .evaluate = EvaluateView,
       .canonicalize = CanonicalizeSqueeze},
      {.name = "Unsqueeze",
       .op_class = OpClass::kView,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 1,
       .exact = true,
       .movement = Movement::kInOrder,
       .parameters = {{1, "axes", ParameterKind::kInts}},
       .infer = InferUnsqueeze,
       .evaluate = EvaluateView,
       .canonicalize = CanonicalizeUnsqueeze},
  };
  return rows;
}

}  // namespace quotient::ops
