// Operators that move elements without computing: Transpose, Concat, Split.

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/dims.h"
#include "core/ops/families.h"
#include "core/ops/strided_copy.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::Dim;
using model::DType;
using model::Ints;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

std::vector<Tensor> One(NewTensor result) { return {std::move(result.tensor)}; }

// --- Transpose ---

absl::Status CheckPermutation(const Ints& perm, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[axis]) {
      return ShapeError("perm is not a permutation of ", rank, " axes");
    }
    seen[axis] = true;
  }
  if (perm.size() != rank) return ShapeError("perm is not a permutation of ", rank, " axes");
  return absl::OkStatus();
}

// An absent perm reverses the axes; it becomes explicit once the rank is known.
absl::Status CanonicalizeTranspose(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  if (data == nullptr || !data->has_rank() || node.attributes.Has("perm")) return absl::OkStatus();
  Ints perm(data->rank());
  std::iota(perm.rbegin(), perm.rend(), 0);
  node.attributes.Set("perm", std::move(perm));
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferTranspose(const InferContext& context) {
  const Shape* data = ShapeAt(context, 0);
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Ints* perm = context.attributes.FindInts("perm");
  if (data == nullptr || perm == nullptr) {
    if (perm != nullptr) result.types[0].shape = Shape(perm->size());
    return result;
  }
  QUOTIENT_RETURN_IF_ERROR(CheckPermutation(*perm, data->size()));
  Shape shape;
  for (int64_t axis : *perm) shape.push_back((*data)[axis]);
  result.types[0].shape = std::move(shape);
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateTranspose(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  NewTensor result(context.output_types[0]);
  const std::vector<int64_t> strides = RowMajorStrides(input.dims());
  std::vector<int64_t> from;
  for (int64_t axis : *context.attributes.FindInts("perm")) from.push_back(strides[axis]);
  const std::vector<int64_t>& dims = result.tensor.dims();
  Copy({.dims = dims, .from_strides = from, .to_strides = RowMajorStrides(dims)}, input.bytes(),
       result.bytes, ElementBytes(input.dtype()), context.threads);
  return One(std::move(result));
}

// --- Concat ---

// The more specific of two descriptions of one dimension. Unknown for two symbols: ONNX Runtime
// runs a Concat of an input without elements whose other dimensions are not those of the rest.
absl::StatusOr<Dim> MergeDims(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number() && a != b) {
    return ShapeError("dimensions ", a.number(), " and ", b.number(), " should be equal");
  }
  if (a.is_symbol() && b.is_symbol()) return a == b ? a : Dim();
  return b.is_number() || a.is_unknown() ? b : a;
}

// The elements of all inputs, one after the other. Elements of a static input that are not followed
// are unknown.
std::optional<Elements> ConcatElements(const InferContext& context) {
  Elements all;
  for (const InferInput& input : context.inputs) {
    if (input.type == nullptr || !input.type->is_static() || input.type->rank() != 1) {
      return std::nullopt;
    }
    const int64_t count = input.type->elements();
    if (count + static_cast<int64_t>(all.size()) > kMaxElements) return std::nullopt;
    if (input.elements != nullptr) {
      all.insert(all.end(), input.elements->begin(), input.elements->end());
    } else {
      all.resize(all.size() + count);
    }
  }
  return all;
}

absl::StatusOr<InferResult> InferConcat(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, context.inputs.size()));
  InferResult result = UnknownShape(dtype);
  std::optional<Shape> shape;
  const int64_t axis_attribute = context.attributes.GetInt("axis", 0);
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    const Shape* input = ShapeAt(context, i);
    if (input == nullptr) return result;
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                              NormalizeAxis(axis_attribute, static_cast<int64_t>(input->size())));
    if (!shape.has_value()) {
      shape = *input;
      continue;
    }
    if (input->size() != shape->size()) return ShapeError("Concat of tensors of different ranks");
    for (int64_t d = 0; d < static_cast<int64_t>(shape->size()); ++d) {
      Dim& dim = (*shape)[d];
      if (d == axis) {
        dim = AddDims(dim, (*input)[d]);
      } else {
        QUOTIENT_ASSIGN_OR_RETURN(dim, MergeDims(dim, (*input)[d]));
      }
    }
  }
  result.types[0].shape = std::move(shape);
  result.elements = ConcatElements(context);
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateConcat(const EvaluateContext& context) {
  NewTensor result(context.output_types[0]);
  const int64_t axis = context.attributes.GetInt("axis", 0);
  const std::vector<int64_t> strides = RowMajorStrides(result.tensor.dims());
  int64_t offset = 0;
  for (const Tensor* input : context.inputs) {
    Copy({.dims = input->dims(),
          .from_strides = RowMajorStrides(input->dims()),
          .to_strides = strides,
          .to_offset = offset * strides[axis]},
         input->bytes(), result.bytes, ElementBytes(input->dtype()), context.threads);
    offset += input->dims()[axis];
  }
  return One(std::move(result));
}

// --- Split ---

// Equal parts; the last one is smaller if necessary.
Ints EqualParts(int64_t size, int64_t parts) {
  const int64_t part = size / parts + (size % parts != 0 ? 1 : 0);
  Ints split;
  for (int64_t i = 0; i < parts; ++i) {
    split.push_back(std::max<int64_t>(0, std::min(part, size - i * part)));
  }
  return split;
}

// The sizes become explicit once they are known; until then the number of parts.
absl::Status CanonicalizeSplit(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  const int64_t parts = static_cast<int64_t>(node.outputs.size());
  const bool has_sizes = node.attributes.Has("split") || InputAt(inputs, 1).type != nullptr;
  if (has_sizes) {
    node.attributes.Erase("num_outputs");
    return absl::OkStatus();
  }
  node.attributes.Set("num_outputs", parts);
  if (data == nullptr || !data->has_rank()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(node.attributes.GetInt("axis", 0), data->rank()));
  if (!data->dim(axis).is_number() || parts == 0) return absl::OkStatus();
  node.attributes.Erase("num_outputs");
  node.attributes.Set("split", EqualParts(data->dim(axis).number(), parts));
  return absl::OkStatus();
}

absl::Status CheckParts(const Ints& split, const InferContext& context, const Dim& whole) {
  int64_t sum = 0;
  for (int64_t part : split) {
    if (part < 0 || __builtin_add_overflow(sum, part, &sum)) return ShapeError("Split into ", part);
  }
  if (static_cast<int>(split.size()) != context.num_outputs) {
    return ShapeError("Split into ", split.size(), " parts has ", context.num_outputs, " outputs");
  }
  if (whole.is_number() && !whole.Is(sum)) {
    return ShapeError("Split of ", whole.number(), " into parts of together ", sum);
  }
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferSplit(const InferContext& context) {
  InferResult result;
  TensorType type;
  type.dtype = DTypeAt(context, 0);
  result.types.resize(context.num_outputs, type);
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return result;
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(context.attributes.GetInt("axis", 0),
                                                              static_cast<int64_t>(data->size())));
  const Ints* split = context.attributes.FindInts("split");
  if (split != nullptr) QUOTIENT_RETURN_IF_ERROR(CheckParts(*split, context, (*data)[axis]));
  for (size_t i = 0; i < result.types.size(); ++i) {
    result.types[i].shape = *data;
    (*result.types[i].shape)[axis] = split != nullptr ? Dim((*split)[i]) : Dim();
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateSplit(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  const int64_t axis = context.attributes.GetInt("axis", 0);
  const std::vector<int64_t> strides = RowMajorStrides(input.dims());
  std::vector<Tensor> parts;
  int64_t offset = 0;
  for (const TensorType& type : context.output_types) {
    NewTensor part(type);
    const std::vector<int64_t>& dims = part.tensor.dims();
    Copy({.dims = dims,
          .from_strides = strides,
          .from_offset = offset * strides[axis],
          .to_strides = RowMajorStrides(dims)},
         input.bytes(), part.bytes, ElementBytes(input.dtype()), context.threads);
    offset += dims[axis];
    parts.push_back(std::move(part.tensor));
  }
  return parts;
}

}  // namespace

std::span<const OpDef> MoveOps() {
  using Kind = AttributeDef::Kind;
  using ParameterKind = Parameter::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Transpose",
       .op_class = OpClass::kMove,
       .min_inputs = 1,
       .max_inputs = 1,
       .max_outputs = 1,
       .since_opset = 1,
       .layout = LayoutRole::kAny,
       .exact = true,
       .movement = Movement::kFromFirst,
       .attributes = {{"perm", Kind::kInts, {}}},
       .infer = InferTranspose,
       .evaluate = EvaluateTranspose,
       .canonicalize = CanonicalizeTranspose},
      {.name = "Concat",
       .op_class = OpClass::kMove,
       .min_inputs = 1,
       .max_inputs = -1,
       .max_outputs = 1,
       .since_opset = 4,
       .layout = LayoutRole::kTied,
       .exact = true,
       .movement = Movement::kFromAll,
       .attributes = {{"axis", Kind::kInt, {}}},
       .axes = {"axis"},
       .infer = InferConcat,
       .evaluate = EvaluateConcat},
      {.name = "Split",
       .op_class = OpClass::kMove,
       .min_inputs = 1,
       .max_inputs = 2,
       .max_outputs = -1,
       .since_opset = 2,
       .layout = LayoutRole::kTied,
       .exact = true,
       .movement = Movement::kFromFirst,
       .parameters = {{1, "split", ParameterKind::kInts}},
       .attributes = {{"axis", Kind::kInt, Attribute(int64_t{0})}, {"num_outputs", Kind::kInt, {}}},
       .axes = {"axis"},
       .infer = InferSplit,
       .evaluate = EvaluateSplit,
       .canonicalize = CanonicalizeSplit},
  };
  return rows;
}

}  // namespace quotient::ops
