// Slice: every step-th element between start and end, along some axes.

#include <algorithm>
#include <limits>
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

using model::AttributeMap;
using model::Dim;
using model::Ints;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
// Exporters write "to the end" as the largest 32-bit or 64-bit number.
constexpr int64_t kLarge = std::numeric_limits<int32_t>::max();

struct AxisSlice {
  int64_t axis;
  Element start;
  Element end;
  int64_t step;

  bool has_numbers() const { return start.is_number() && end.is_number(); }
};

std::optional<Elements> ParameterElements(const AttributeMap& attributes, const char* name,
                                          std::span<const InferInput> inputs, size_t slot) {
  if (const Ints* ints = attributes.FindInts(name)) return Elements(ints->begin(), ints->end());
  const Elements* elements = InputAt(inputs, slot).elements;
  return elements == nullptr ? std::nullopt : std::optional(*elements);
}

// Axes or steps, or `otherwise` if they are left out; nullopt if they are not known.
std::optional<Ints> ParameterInts(const AttributeMap& attributes, const char* name,
                                  std::span<const InferInput> inputs, size_t slot,
                                  const std::optional<Ints>& otherwise) {
  const std::optional<Elements> elements = ParameterElements(attributes, name, inputs, slot);
  if (elements.has_value()) return AllNumbers(*elements);
  return InputAt(inputs, slot).type != nullptr ? std::nullopt : otherwise;
}

// The sliced axes if none are named: the first ones, as many as any other parameter has numbers.
// Returns nullopt if that is not known.
std::optional<Ints> LeadingAxes(const AttributeMap& attributes,
                                std::span<const InferInput> inputs) {
  const std::pair<const char*, size_t> parameters[] = {{"starts", 1}, {"ends", 2}, {"steps", 4}};
  for (const auto& [name, slot] : parameters) {
    std::optional<int64_t> count;
    if (const auto elements = ParameterElements(attributes, name, inputs, slot)) {
      count = static_cast<int64_t>(elements->size());
    } else if (const TensorType* type = InputAt(inputs, slot).type;
               type != nullptr && type->has_rank() && type->rank() == 1 &&
               type->dim(0).is_number()) {
      count = type->dim(0).number();
    }
    if (!count.has_value() || *count > kMaxElements) continue;
    Ints axes(static_cast<size_t>(*count));
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
  }
  return std::nullopt;
}

// With a negative step, an end of the largest 32-bit or 64-bit number means "through the first
// element" in ONNX Runtime, but "to the last element", so nothing, in the standard.
bool IsDisputedEnd(int64_t end, int64_t step) {
  return step < 0 && (end == kLarge || end == kToTheEnd);
}

bool HasNoDisputedEnd(const Node& node) {
  const Ints* ends = node.attributes.FindInts("ends");
  const Ints* steps = node.attributes.FindInts("steps");
  if (ends == nullptr || steps == nullptr || ends->size() != steps->size()) return true;
  for (size_t i = 0; i < ends->size(); ++i) {
    if (IsDisputedEnd((*ends)[i], (*steps)[i])) return false;
  }
  return true;
}

// The slices by increasing axis. A disputed end counts as unknown. Returns nullopt if the axes or
// the steps are not known.
absl::StatusOr<std::optional<std::vector<AxisSlice>>> SlicesOf(const AttributeMap& attributes,
                                                               std::span<const InferInput> inputs,
                                                               int64_t rank) {
  std::optional<Elements> starts = ParameterElements(attributes, "starts", inputs, 1);
  std::optional<Elements> ends = ParameterElements(attributes, "ends", inputs, 2);
  const std::optional<Ints> leading = LeadingAxes(attributes, inputs);
  const std::optional<Ints> axes = ParameterInts(attributes, "axes", inputs, 3, leading);
  if (!axes.has_value()) return std::nullopt;
  const std::optional<Ints> steps =
      ParameterInts(attributes, "steps", inputs, 4, Ints(axes->size(), 1));
  if (!steps.has_value()) return std::nullopt;
  if (!starts.has_value()) starts = Elements(axes->size());
  if (!ends.has_value()) ends = Elements(axes->size());
  if (starts->size() != axes->size() || ends->size() != axes->size() ||
      steps->size() != axes->size()) {
    return ShapeError("Slice with parameters of different lengths");
  }
  QUOTIENT_RETURN_IF_ERROR(NormalizeAxes(*axes, rank).status());
  std::vector<AxisSlice> slices;
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] + ((*axes)[i] < 0 ? rank : 0);
    if ((*steps)[i] == 0) return ShapeError("Slice with a step of 0");
    Element end = (*ends)[i];
    if (end.is_number() && IsDisputedEnd(end.number(), (*steps)[i])) end = Element();
    slices.push_back({axis, (*starts)[i], end, (*steps)[i]});
  }
  std::sort(slices.begin(), slices.end(),
            [](const AxisSlice& a, const AxisSlice& b) { return a.axis < b.axis; });
  return slices;
}

// Resolves a position that may count from the end.
int64_t Position(int64_t position, int64_t dim, int64_t low, int64_t high) {
  return std::clamp(position < 0 ? position + dim : position, low, high);
}

// Start, end and number of elements along a dimension of known size. The end is -1 if a negative
// step continues through the first element.
struct Range {
  int64_t start;
  int64_t end;
  int64_t count;
};

Range RangeOf(const AxisSlice& slice, int64_t dim) {
  const bool forward = slice.step > 0;
  Range range;
  range.start = Position(slice.start.number(), dim, 0, forward || dim == 0 ? dim : dim - 1);
  range.end = Position(slice.end.number(), dim, forward ? 0 : -1, forward ? dim : dim - 1);
  const int64_t distance = forward ? range.end - range.start : range.start - range.end;
  // Negating the step as a signed number would overflow for the lowest one.
  const uint64_t step =
      forward ? static_cast<uint64_t>(slice.step) : uint64_t{0} - static_cast<uint64_t>(slice.step);
  range.count = distance <= 0 || dim == 0
                    ? 0
                    : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / step + 1);
  return range;
}

// Whether the slice takes the whole dimension.
bool IsWhole(const AxisSlice& slice, const Dim& dim) {
  if (slice.step != 1 || !slice.start.Is(0)) return false;
  if (slice.end.is_number() && slice.end.number() >= kLarge && !dim.is_number()) return true;
  return dim.is_symbol()
             ? slice.end.symbol() == dim.symbol()
             : dim.is_number() && slice.end.is_number() && slice.end.number() >= dim.number();
}

void Normalize(AxisSlice& slice, const Dim& dim) {
  if (!dim.is_number()) {
    if (slice.step > 0 && slice.end.is_number() && slice.end.number() >= kLarge) {
      slice.end = kToTheEnd;
    }
    return;
  }
  if (!slice.has_numbers()) return;
  const Range range = RangeOf(slice, dim.number());
  slice.start = range.start;
  slice.end = range.end < 0 ? -dim.number() - 1 : range.end;
}

// A whole slice of a symbolic dimension is dropped, so its end need not name the symbol.
void DropWholeSlices(std::vector<AxisSlice>& slices, const Shape& data) {
  std::vector<AxisSlice> kept;
  for (const AxisSlice& slice : slices) {
    if (!IsWhole(slice, data[slice.axis])) kept.push_back(slice);
  }
  if (kept.empty() && !data.empty()) {
    const Element end = data[0].is_number() ? Element(data[0]) : Element(kToTheEnd);
    kept.push_back({0, 0, end, 1});
  }
  slices = std::move(kept);
}

// Sorts the axes, makes positions non-negative where dimensions are known, drops axes that are
// taken whole (but keeps at least one axis), and drops steps if all are 1.
absl::Status CanonicalizeSlice(Node& node, std::span<const InferInput> inputs) {
  const TensorType* data = InputAt(inputs, 0).type;
  if (data == nullptr || !data->has_rank()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(auto slices, SlicesOf(node.attributes, inputs, data->rank()));
  if (!slices.has_value()) return absl::OkStatus();
  DropWholeSlices(*slices, *data->shape);
  Ints starts, ends, axes, steps;
  for (AxisSlice& slice : *slices) {
    if (!slice.has_numbers()) return absl::OkStatus();
    Normalize(slice, data->dim(static_cast<int>(slice.axis)));
    starts.push_back(slice.start.number());
    ends.push_back(slice.end.number());
    axes.push_back(slice.axis);
    steps.push_back(slice.step);
  }
  const bool unit_steps = steps == Ints(steps.size(), 1);
  node.attributes.Set("starts", std::move(starts));
  node.attributes.Set("ends", std::move(ends));
  node.attributes.Set("axes", std::move(axes));
  node.attributes.Erase("steps");
  if (!unit_steps) node.attributes.Set("steps", std::move(steps));
  node.inputs.resize(1);
  return absl::OkStatus();
}

Dim SlicedDim(const AxisSlice& slice, const Dim& dim) {
  if (!dim.is_number()) return Dim();
  if (slice.has_numbers()) return RangeOf(slice, dim.number()).count;
  const bool is_prefix = slice.start.Is(0) && slice.step == 1 && slice.end.is_symbol();
  return is_prefix ? MinDim(slice.end.AsDim(), dim.number()) : Dim();
}

std::optional<Elements> SlicedElements(const Elements& data, const AxisSlice& slice) {
  const Range range = RangeOf(slice, static_cast<int64_t>(data.size()));
  Elements result;
  for (int64_t i = 0; i < range.count; ++i) result.push_back(data[range.start + i * slice.step]);
  return result;
}

absl::StatusOr<InferResult> InferSlice(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return result;
  QUOTIENT_ASSIGN_OR_RETURN(const auto slices, SlicesOf(context.attributes, context.inputs,
                                                        static_cast<int64_t>(data->size())));
  if (!slices.has_value()) {
    result.types[0].shape = Shape(data->size());
    return result;
  }
  Shape shape = *data;
  for (const AxisSlice& slice : *slices) {
    Dim& dim = shape[slice.axis];
    if (!IsWhole(slice, dim)) dim = SlicedDim(slice, dim);
  }
  const Elements* elements = ElementsAt(context, 0);
  if (elements != nullptr && shape.size() == 1 && slices->size() == 1 &&
      (*slices)[0].has_numbers()) {
    result.elements = SlicedElements(*elements, (*slices)[0]);
  }
  result.types[0].shape = std::move(shape);
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateSlice(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  QUOTIENT_ASSIGN_OR_RETURN(const auto slices, SlicesOf(context.attributes, {}, input.rank()));
  std::vector<int64_t> from = RowMajorStrides(input.dims());
  int64_t offset = 0;
  for (const AxisSlice& slice : *slices) {
    int64_t& stride = from[slice.axis];
    const Range range = RangeOf(slice, input.dims()[slice.axis]);
    offset += range.start * stride;
    // A single element needs no stride, and a huge step would overflow it.
    stride = range.count <= 1 ? 0 : stride * slice.step;
  }
  NewTensor result(context.output_types[0]);
  const std::vector<int64_t>& dims = result.tensor.dims();
  Copy({.dims = dims,
        .from_strides = from,
        .from_offset = offset,
        .to_strides = RowMajorStrides(dims)},
       input.bytes(), result.bytes, ElementBytes(input.dtype()), context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

}  // namespace

std::span<const OpDef> SliceOps() {
  using Kind = Parameter::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Slice",
       .op_class = OpClass::kMove,
       .min_inputs = 3,
       .max_inputs = 5,
       .max_outputs = 1,
       .since_opset = 1,
       .layout = LayoutRole::kTied,
       .exact = true,
       .movement = Movement::kFromFirst,
       .parameters = {{1, "starts", Kind::kInts},
                      {2, "ends", Kind::kInts},
                      {3, "axes", Kind::kInts},
                      {4, "steps", Kind::kInts}},
       .infer = InferSlice,
       .evaluate = EvaluateSlice,
       .canonicalize = CanonicalizeSlice,
       .accepts = HasNoDisputedEnd},
  };
  return rows;
}

}  // namespace quotient::ops
