// Pad: adds a border around a tensor or, where a pad is negative, cuts a part off.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/dims.h"
#include "core/ops/families.h"
#include "core/ops/mapped_copy.h"
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

bool KnowsMode(const Node& node) {
  const std::string mode = node.attributes.GetString("mode", "constant");
  return mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap";
}

// Turns pads of named axes into pads of all axes.
absl::Status CanonicalizePad(Node& node, std::span<const InferInput> inputs) {
  if (node.attributes.GetString("mode", "constant") != "constant") {
    node.attributes.Erase("constant_value");
    if (node.inputs.size() > 2) node.inputs[2] = model::ValueId();
  }
  const TensorType* data = InputAt(inputs, 0).type;
  const Ints* pads = node.attributes.FindInts("pads");
  const Ints* axes = node.attributes.FindInts("axes");
  if (data == nullptr || !data->has_rank() || pads == nullptr || axes == nullptr) {
    return absl::OkStatus();
  }
  if (pads->size() != 2 * axes->size()) {
    return ShapeError("Pad of ", axes->size(), " axes with ", pads->size(), " pads");
  }
  const size_t rank = data->shape->size();
  QUOTIENT_RETURN_IF_ERROR(NormalizeAxes(*axes, data->rank()).status());
  Ints all(2 * rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] + ((*axes)[i] < 0 ? data->rank() : 0);
    all[axis] = (*pads)[i];
    all[rank + axis] = (*pads)[axes->size() + i];
  }
  node.attributes.Set("pads", std::move(all));
  node.attributes.Erase("axes");
  return absl::OkStatus();
}

absl::StatusOr<Dim> PaddedDim(const Dim& dim, int64_t before, int64_t after) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();  // Has no opposite.
  const std::optional<int64_t> both = CheckedAdd(before, after);
  if (!both.has_value() || before == kLowest || after == kLowest) {
    return ShapeError("Pad by ", before, " and ", after);
  }
  if (*both == 0) return dim;
  if (!dim.is_number()) return FloorDim(dim, *both, 1);
  const std::optional<int64_t> size = CheckedAdd(dim.number(), *both);
  if (!size.has_value() || *size < 0) {
    return ShapeError("Pad of ", dim.number(), " by ", before, " and ", after);
  }
  return Dim(*size);
}

absl::StatusOr<InferResult> InferPad(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return result;
  const size_t rank = data->size();
  result.types[0].shape = Shape(rank);
  const Ints* pads = context.attributes.FindInts("pads");
  if (pads == nullptr || context.attributes.Has("axes") || HasInput(context, 3)) return result;
  if (pads->size() != 2 * rank) {
    return ShapeError("Pad of rank ", rank, " with ", pads->size(), " pads");
  }
  for (size_t i = 0; i < rank; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN((*result.types[0].shape)[i],
                              PaddedDim((*data)[i], (*pads)[i], (*pads)[rank + i]));
  }
  return result;
}

// The input index that index `i`, which may lie outside, reads from an axis of `size` elements;
// kBorder for the constant.
int64_t SourceIndex(int64_t i, int64_t size, absl::string_view mode) {
  if (i >= 0 && i < size) return i;
  if (mode == "edge") return std::clamp<int64_t>(i, 0, size - 1);
  if (mode == "wrap") return ((i % size) + size) % size;
  if (mode == "reflect") {
    if (size == 1) return 0;
    const int64_t period = 2 * (size - 1);
    const int64_t phase = ((i % period) + period) % period;
    return phase < size ? phase : period - phase;
  }
  return kBorder;
}

// For each index along an output axis, the input index. Negative pads cut elements off before the
// rest is padded.
absl::StatusOr<std::vector<int64_t>> SourceIndices(int64_t dim, int64_t before, int64_t after,
                                                   absl::string_view mode) {
  const int64_t cut_before = std::max<int64_t>(0, -before);
  const int64_t size = dim - cut_before - std::max<int64_t>(0, -after);
  const int64_t padded = dim + (before + after);
  if (size <= 0 && mode != "constant" && padded > 0) {
    return absl::FailedPreconditionError("Pad has nothing to repeat");
  }
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t source = SourceIndex(i - std::max<int64_t>(0, before), size, mode);
    sources.push_back(source == kBorder ? kBorder : source + cut_before);
  }
  return sources;
}

// A tensor of one element with the constant.
Tensor BorderElement(const EvaluateContext& context, model::DType dtype) {
  if (context.inputs.size() > 2 && context.inputs[2] != nullptr) return *context.inputs[2];
  const double value = context.attributes.GetFloat("constant_value", 0);
  NewTensor border(model::StaticType(dtype, {}));
  model::Store(dtype, border.bytes, 0, std::span(&value, 1));
  return border.tensor;
}

absl::StatusOr<std::vector<Tensor>> EvaluatePad(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  const std::string mode = context.attributes.GetString("mode", "constant");
  const Ints& pads = *context.attributes.FindInts("pads");
  const size_t rank = input.dims().size();
  std::vector<std::vector<int64_t>> sources(rank);
  for (size_t i = 0; i < rank; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(sources[i],
                              SourceIndices(input.dims()[i], pads[i], pads[rank + i], mode));
  }
  const Tensor border = BorderElement(context, input.dtype());
  return std::vector<Tensor>{MappedCopy(input, sources, border, context.threads)};
}

Interval BoundsOfPad(const BoundsContext& context) {
  if (context.inputs.size() > 1) return AnythingOf(context.dtype());
  const double border = context.attributes.GetFloat("constant_value", 0);
  return Hull(context.in(0), {border, border, std::isnan(border)});
}

}  // namespace

std::span<const OpDef> PadOps() {
  using Kind = AttributeDef::Kind;
  using ParameterKind = Parameter::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Pad",
       .op_class = OpClass::kMove,
       .min_inputs = 2,
       .max_inputs = 4,
       .max_outputs = 1,
       .since_opset = 2,
       .layout = LayoutRole::kTied,
       .exact = true,
       .numerics = {.bounds = BoundsOfPad},
       .parameters = {{1, "pads", ParameterKind::kInts},
                      {2, "constant_value", ParameterKind::kFloat},
                      {3, "axes", ParameterKind::kInts}},
       .attributes = {{"mode", Kind::kString, Attribute(std::string("constant"))},
                      {"constant_value", Kind::kFloat, Attribute(0.0)}},
       .infer = InferPad,
       .evaluate = EvaluatePad,
       .canonicalize = CanonicalizePad,
       .accepts = KnowsMode},
  };
  return rows;
}

}  // namespace quotient::ops
