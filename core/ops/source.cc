// Operators that read no elements or make tensors from a few numbers: Shape, Size, ConstantOfShape,
// Range.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/dims.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::AttributeMap;
using model::Dim;
using model::DType;
using model::Ints;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

// --- Shape, Size ---

struct AxisRange {
  int64_t first;
  int64_t last;
};

AxisRange ShapeRange(const AttributeMap& attributes, int64_t rank) {
  const auto clamp = [rank](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  AxisRange range{clamp(attributes.GetInt("start", 0)), clamp(attributes.GetInt("end", rank))};
  range.last = std::max(range.first, range.last);
  return range;
}

// An end equal to the rank is absent.
absl::Status CanonicalizeShape(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  if (data == nullptr || !data->has_rank()) return absl::OkStatus();
  const AxisRange range = ShapeRange(node.attributes, data->rank());
  node.attributes.Set("start", range.first);
  node.attributes.Erase("end");
  if (range.last != data->rank()) node.attributes.Set("end", range.last);
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferShape(const InferContext& context) {
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return OneOutput(TensorType(DType::kInt64, {Dim()}));
  const AxisRange range = ShapeRange(context.attributes, static_cast<int64_t>(data->size()));
  InferResult result = OneOutput(TensorType(DType::kInt64, {Dim(range.last - range.first)}));
  result.elements = Elements(data->begin() + range.first, data->begin() + range.last);
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateShape(const EvaluateContext& context) {
  const std::vector<int64_t>& dims = context.inputs[0]->dims();
  const AxisRange range = ShapeRange(context.attributes, static_cast<int64_t>(dims.size()));
  NewTensor result(context.output_types[0]);
  model::Store(DType::kInt64, result.bytes, 0,
               std::span(dims.begin() + range.first, dims.begin() + range.last));
  return std::vector<Tensor>{std::move(result.tensor)};
}

absl::StatusOr<InferResult> InferSize(const InferContext& context) {
  InferResult result = OneOutput(TensorType(DType::kInt64, Shape{}));
  if (const Shape* data = ShapeAt(context, 0)) {
    Dim product = 1;
    for (const Dim& dim : *data) product = MulDims(product, dim);
    result.elements = Elements{product};
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateSize(const EvaluateContext& context) {
  return std::vector<Tensor>{Tensor::IntScalar(context.inputs[0]->elements())};
}

// --- ConstantOfShape ---

const Tensor* FillValue(const AttributeMap& attributes) {
  const Attribute* value = attributes.Find("value");
  return value == nullptr ? nullptr : std::get_if<Tensor>(value);
}

// The value becomes a tensor with one axis and one element.
absl::Status CanonicalizeConstantOfShape(Node& node, std::span<const InferInput>) {
  const Tensor* value = FillValue(node.attributes);
  if (value == nullptr) return absl::OkStatus();
  if (value->elements() != 1)
    return ShapeError("ConstantOfShape of ", value->elements(), " values");
  node.attributes.Set("value", value->Reshaped({1}));
  return absl::OkStatus();
}

bool FillsWithComputable(const Node& node) {
  const Tensor* value = FillValue(node.attributes);
  return value == nullptr || model::IsComputable(value->dtype());
}

absl::StatusOr<InferResult> InferConstantOfShape(const InferContext& context) {
  const Tensor* value = FillValue(context.attributes);
  InferResult result = UnknownShape(value == nullptr ? DType::kFloat32 : value->dtype());
  std::optional<Elements> target;
  if (const Ints* shape = context.attributes.FindInts("shape")) {
    target = Elements(shape->begin(), shape->end());
  } else if (const Elements* elements = ElementsAt(context, 0)) {
    target = *elements;
  }
  if (!target.has_value()) {
    if (const std::optional<int64_t> rank = TargetRank(context, 0)) {
      result.types[0].shape = Shape(static_cast<size_t>(*rank));
    }
    return result;
  }
  for (const Element& element : *target) {
    if (element.is_number() && element.number() < 0) {
      return ShapeError("ConstantOfShape with a dimension of ", element.number());
    }
  }
  result.types[0].shape = AsShape(*target);
  if (value != nullptr && !model::IsFloat(value->dtype()) && IsSmall(result.types[0])) {
    result.elements = Elements(result.types[0].elements(), value->GetInt(0));
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateConstantOfShape(const EvaluateContext& context) {
  NewTensor result(context.output_types[0]);
  if (const Tensor* value = FillValue(context.attributes)) {
    const std::span<const std::byte> element = value->bytes();
    for (size_t at = 0; at < result.bytes.size(); at += element.size()) {
      std::memcpy(result.bytes.data() + at, element.data(), element.size());
    }
  }
  return std::vector<Tensor>{std::move(result.tensor)};
}

// --- Range ---

// Number of values from start to limit; nullopt if the step is zero or there are too many.
std::optional<int64_t> RangeCount(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(count < 9e15)) return std::nullopt;  // Also if NaN.
  return std::max<int64_t>(0, static_cast<int64_t>(std::max(count, 0.0)));
}

std::optional<int64_t> RangeCount(int64_t start, int64_t limit, int64_t delta) {
  int64_t distance;
  if (delta == 0 || delta == std::numeric_limits<int64_t>::min() ||
      __builtin_sub_overflow(limit, start, &distance)) {
    return std::nullopt;
  }
  if (distance == 0 || (distance < 0) != (delta < 0)) return 0;
  return distance / delta + (distance % delta != 0 ? 1 : 0);
}

// The same with a rounded distance: runtimes subtract in the element type.
std::optional<int64_t> CountInFloat32(const std::vector<double>& range) {
  const double distance = static_cast<float>(range[1]) - static_cast<float>(range[0]);
  return RangeCount(0.0, static_cast<float>(distance), range[2]);
}

// Whether runtimes that subtract integers in doubles, as ONNX Runtime does, or in the element type
// agree on how far the limit is from the start.
bool IsDistanceCertain(DType dtype, double start, double limit) {
  const double most = dtype == DType::kInt64 ? 0x1p53 : 0x1p31;
  return std::abs(start) < most && std::abs(limit) < most && std::abs(limit - start) < most;
}

// Uses the three numbers if they are known; their common type decides how they are counted.
absl::StatusOr<InferResult> InferRange(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, 3));
  InferResult result = OneOutput(TensorType(dtype, {Dim()}));
  Dim& dim = (*result.types[0].shape)[0];
  std::optional<int64_t> count;
  const auto known = [&](size_t i) {
    const Elements* elements = ElementsAt(context, i);
    return elements != nullptr && elements->size() == 1 ? (*elements)[0] : Element();
  };
  const Element start = known(0), limit = known(1), delta = known(2);
  if (start.is_number() && limit.is_number() && delta.is_number()) {
    count = RangeCount(start.number(), limit.number(), delta.number());
    if (!count.has_value()) return ShapeError("Range with a step of ", delta.number());
    if (!IsDistanceCertain(dtype, static_cast<double>(start.number()),
                           static_cast<double>(limit.number()))) {
      return result;
    }
    if (*count <= kMaxElements) {
      result.elements.emplace();
      for (int64_t i = 0; i < *count; ++i) {
        result.elements->push_back(start.number() + i * delta.number());
      }
    }
  } else if (start.Is(0) && delta.Is(1) && limit.is_symbol()) {
    dim = limit.AsDim();
  } else {
    std::vector<double> values;
    for (const InferInput& input : context.inputs) {
      if (input.constant == nullptr || input.constant->elements() != 1) return result;
      values.push_back(input.constant->GetDouble(0));
    }
    count = RangeCount(values[0], values[1], values[2]);
    if (!count.has_value()) return ShapeError("Range with a step of ", values[2]);
    if (dtype != DType::kFloat64 && count != CountInFloat32(values)) return result;
  }
  if (count.has_value()) dim = *count;
  return result;
}

template <typename T>
Tensor MakeRange(const EvaluateContext& context) {
  NewTensor result(context.output_types[0]);
  T start, delta;
  context.inputs[0]->Load(0, std::span(&start, 1));
  context.inputs[2]->Load(0, std::span(&delta, 1));
  std::vector<T> values(static_cast<size_t>(result.tensor.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<T>(i) * delta;
  model::Store(result.tensor.dtype(), result.bytes, 0, std::span<const T>(values));
  return std::move(result.tensor);
}

absl::StatusOr<std::vector<Tensor>> EvaluateRange(const EvaluateContext& context) {
  const bool floats = model::IsFloat(context.output_types[0].dtype);
  return std::vector<Tensor>{floats ? MakeRange<double>(context) : MakeRange<int64_t>(context)};
}

Interval BoundsOfConstantOfShape(const BoundsContext& context) {
  const model::Attribute* value = context.attributes.Find("value");
  if (value == nullptr) return {0, 0, false};
  const auto* tensor = std::get_if<Tensor>(value);
  if (tensor == nullptr || tensor->elements() != 1) return AnythingOf(context.dtype());
  const double number = tensor->GetDouble(0);
  if (std::isnan(number)) return AnythingOf(context.dtype());
  return {number, number, false};
}

}  // namespace

std::span<const OpDef> SourceOps() {
  using Kind = AttributeDef::Kind;
  static constexpr float kZero = 0;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Shape",
       .op_class = OpClass::kShape,
       .min_inputs = 1,
       .max_inputs = 1,
       .max_outputs = 1,
       .since_opset = 1,
       .exact = true,
       .numerics = {.bounds = Counting},
       .attributes = {{"start", Kind::kInt, Attribute(int64_t{0})}, {"end", Kind::kInt, {}}},
       .infer = InferShape,
       .evaluate = EvaluateShape,
       .canonicalize = CanonicalizeShape},
      {.name = "Size",
       .op_class = OpClass::kShape,
       .min_inputs = 1,
       .max_inputs = 1,
       .max_outputs = 1,
       .since_opset = 1,
       .exact = true,
       .numerics = {.bounds = Counting},
       .infer = InferSize,
       .evaluate = EvaluateSize},
      {.name = "ConstantOfShape",
       .op_class = OpClass::kSource,
       .min_inputs = 1,
       .max_inputs = 1,
       .max_outputs = 1,
       .since_opset = 9,
       .exact = true,
       .numerics = {.bounds = BoundsOfConstantOfShape},
       .parameters = {{0, "shape", Parameter::Kind::kInts}},
       .attributes = {{"value", Kind::kTensor,
                       Attribute(Tensor::Floats({1}, std::span(&kZero, 1)))}},
       .infer = InferConstantOfShape,
       .evaluate = EvaluateConstantOfShape,
       .canonicalize = CanonicalizeConstantOfShape,
       .accepts = FillsWithComputable},
      {.name = "Range",
       .op_class = OpClass::kSource,
       .min_inputs = 3,
       .max_inputs = 3,
       .max_outputs = 1,
       .since_opset = 11,
       .exact = true,
       .numerics = {.step = true},
       .infer = InferRange,
       .evaluate = EvaluateRange},
  };
  return rows;
}

}  // namespace quotient::ops
