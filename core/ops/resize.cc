// Resize: samples on another grid, taking the nearest element or interpolating between neighbours.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/certain.h"
#include "core/ops/families.h"
#include "core/ops/mapped_copy.h"
#include "core/ops/resize_grid.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::AttributeMap;
using model::Dim;
using model::Floats;
using model::Ints;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

constexpr absl::string_view kTransformations[] = {"half_pixel",         "half_pixel_symmetric",
                                                  "pytorch_half_pixel", "align_corners",
                                                  "asymmetric",         "tf_crop_and_resize"};
constexpr absl::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil"};
constexpr absl::string_view kPolicies[] = {"stretch", "not_larger", "not_smaller"};
constexpr absl::string_view kModes[] = {"nearest", "linear", "cubic"};

template <size_t kCount>
bool OneOf(const std::string& value, const absl::string_view (&known)[kCount]) {
  return std::find(std::begin(known), std::end(known), value) != std::end(known);
}

// The only transformation that uses roi and extrapolation_value.
bool IsCrop(const AttributeMap& attributes) {
  return ResizeTransformation(attributes) == "tf_crop_and_resize";
}
bool IsNearest(const AttributeMap& attributes) {
  return attributes.GetString("mode", "nearest") == "nearest";
}

bool IsCubic(const AttributeMap& attributes) {
  return attributes.GetString("mode", "nearest") == "cubic";
}

bool KnowsResize(const Node& node) {
  const AttributeMap& attributes = node.attributes;
  return OneOf(attributes.GetString("mode", "nearest"), kModes) &&
         OneOf(ResizeTransformation(attributes), kTransformations) &&
         OneOf(attributes.GetString("nearest_mode", "round_prefer_floor"), kRoundings) &&
         OneOf(ResizePolicy(attributes), kPolicies) && attributes.GetInt("antialias", 0) == 0 &&
         (IsCubic(attributes) || attributes.GetInt("exclude_outside", 0) == 0);
}

// --- Canonical form ---

// An empty list means "not given", like an absent input.
void EraseEmpty(AttributeMap& attributes) {
  for (const char* name : {"roi", "scales"}) {
    const Floats* floats = FindFloats(attributes, name);
    if (floats != nullptr && floats->empty()) attributes.Erase(name);
  }
  const Ints* sizes = attributes.FindInts("sizes");
  if (sizes != nullptr && sizes->empty()) attributes.Erase("sizes");
}

// Turns a list with one value per named axis into one with a value per axis.
template <typename T>
absl::StatusOr<std::vector<T>> Spread(const std::vector<T>& values, const Ints& axes,
                                      std::vector<T> all) {
  if (values.size() != axes.size()) {
    return ShapeError("Resize of ", axes.size(), " axes with ", values.size(), " values");
  }
  for (size_t i = 0; i < axes.size(); ++i) all[static_cast<size_t>(axes[i])] = values[i];
  return all;
}

absl::Status SpreadRoi(AttributeMap& attributes, const Ints& axes, size_t rank) {
  const Floats* roi = FindFloats(attributes, "roi");
  if (roi == nullptr) return absl::OkStatus();
  if (roi->size() != 2 * axes.size()) {
    return ShapeError("Resize of ", axes.size(), " axes with a roi of ", roi->size());
  }
  Floats all(2 * rank, 0);
  std::fill(all.begin() + static_cast<std::ptrdiff_t>(rank), all.end(), 1.0);
  for (size_t i = 0; i < axes.size(); ++i) {
    all[static_cast<size_t>(axes[i])] = (*roi)[i];
    all[rank + static_cast<size_t>(axes[i])] = (*roi)[axes.size() + i];
  }
  attributes.Set("roi", std::move(all));
  return absl::OkStatus();
}

// Replaces values of named axes by values of all axes. The axes stay if a size is needed for an
// axis of unknown size, if a policy applies only to the named axes, or if a region of interest is
// not known yet.
absl::Status SpreadAxes(AttributeMap& attributes, const Shape& data) {
  const Ints* given = attributes.FindInts("axes");
  const bool needs_roi = IsCrop(attributes) && !attributes.Has("roi");
  if (given == nullptr || needs_roi || ResizePolicy(attributes) != "stretch")
    return absl::OkStatus();
  const int64_t rank = static_cast<int64_t>(data.size());
  QUOTIENT_RETURN_IF_ERROR(NormalizeAxes(*given, rank).status());
  Ints axes = *given;
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  const Floats* scales = FindFloats(attributes, "scales");
  const Ints* sizes = attributes.FindInts("sizes");
  if (scales != nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(Floats all, Spread(*scales, axes, Floats(data.size(), 1.0)));
    attributes.Set("scales", std::move(all));
  } else if (sizes != nullptr) {
    Ints dims;
    for (const Dim& dim : data) {
      if (!dim.is_number()) return absl::OkStatus();
      dims.push_back(dim.number());
    }
    QUOTIENT_ASSIGN_OR_RETURN(Ints all, Spread(*sizes, axes, std::move(dims)));
    attributes.Set("sizes", std::move(all));
  } else {
    return absl::OkStatus();
  }
  QUOTIENT_RETURN_IF_ERROR(SpreadRoi(attributes, axes, data.size()));
  attributes.Erase("axes");
  return absl::OkStatus();
}

absl::Status CanonicalizeResize(Node& node, std::span<const InferInput> inputs) {
  AttributeMap& attributes = node.attributes;
  EraseEmpty(attributes);
  if (!IsCubic(attributes)) attributes.Erase("cubic_coeff_a");
  if (!IsNearest(attributes)) attributes.Erase("nearest_mode");
  if (!IsCrop(attributes)) {
    attributes.Erase("roi");
    attributes.Erase("extrapolation_value");
    if (node.inputs.size() > 1) node.inputs[1] = model::ValueId();
  }
  const TensorType* data = InputAt(inputs, 0).type;
  if (data == nullptr || !data->has_rank()) return absl::OkStatus();
  return SpreadAxes(attributes, *data->shape);
}

// --- Inference ---

absl::StatusOr<InferResult> InferResize(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return result;
  // A symbolic dimension is known afterwards only if it is not resized, so any number may stand for
  // it here.
  std::vector<int64_t> dims;
  for (const Dim& dim : *data) dims.push_back(dim.is_number() ? dim.number() : 1);
  QUOTIENT_ASSIGN_OR_RETURN(const auto grids, GridsOf(context.attributes, dims));
  result.types[0].shape = Shape(data->size());
  if (!grids.has_value()) return result;
  const bool by_size = context.attributes.Has("sizes");
  const bool stretch = ResizePolicy(context.attributes) == "stretch";
  const TensorType type(model::DType::kFloat32, *data);
  for (size_t i = 0; i < data->size(); ++i) {
    const AxisGrid& grid = (*grids)[i];
    Dim& dim = (*result.types[0].shape)[i];
    if ((*data)[i].is_number() && (stretch || type.is_static())) {
      dim = grid.out;
    } else if (by_size && stretch && !context.attributes.Has("axes")) {
      dim = grid.out;
    } else if (!by_size && grid.scale == 1) {
      dim = (*data)[i];
    }
  }
  return result;
}

// --- Evaluation ---

absl::StatusOr<std::vector<Tensor>> EvaluateNearest(const EvaluateContext& context,
                                                    std::span<const AxisGrid> grids) {
  const Tensor& input = *context.inputs[0];
  static_assert(kBorder == -1);
  std::vector<std::vector<int64_t>> maps;
  for (const AxisGrid& grid : grids) maps.push_back(NearestOf(context.attributes, grid));
  const double value = context.attributes.GetFloat("extrapolation_value", 0);
  NewTensor border(model::StaticType(input.dtype(), {}));
  model::Store(input.dtype(), border.bytes, 0, std::span(&value, 1));
  return std::vector<Tensor>{MappedCopy(input, maps, border.tensor, context.threads)};
}

// Interpolates along one axis of `values`, whose dimensions are `dims`.
std::vector<double> Interpolate(const std::vector<double>& values, std::span<const int64_t> dims,
                                size_t axis, const std::vector<Sample>& samples, double border) {
  const int64_t outer = Count(dims.first(axis));
  const int64_t inner = Count(dims.subspan(axis + 1));
  std::vector<double> result;
  result.reserve(static_cast<size_t>(outer * inner) * samples.size());
  for (int64_t o = 0; o < outer; ++o) {
    const double* block = values.data() + o * dims[axis] * inner;
    for (const Sample& sample : samples) {
      for (int64_t i = 0; i < inner; ++i) {
        double sum = sample.is_outside ? border : 0;
        for (int tap = 0; tap < sample.taps; ++tap) {
          sum += block[sample.index[tap] * inner + i] * sample.weight[tap];
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> EvaluateInterpolated(const EvaluateContext& context,
                                                         std::span<const AxisGrid> grids) {
  const Tensor& input = *context.inputs[0];
  const double border = context.attributes.GetFloat("extrapolation_value", 0);
  std::vector<double> values = input.AsDoubles();
  std::vector<int64_t> dims = input.dims();
  // Shrinks axes first, so that no intermediate result is larger than both input and output.
  std::vector<size_t> order(grids.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t axis) { return grids[axis].out <= grids[axis].in; });
  for (size_t axis : order) {
    const std::vector<Sample> samples = SamplesOf(context.attributes, grids[axis]);
    if (IsIdentity(samples, dims[axis])) continue;
    values = Interpolate(values, dims, axis, samples, border);
    dims[axis] = grids[axis].out;
  }
  NewTensor result(context.output_types[0]);
  model::Store(input.dtype(), result.bytes, 0, std::span<const double>(values));
  return std::vector<Tensor>{std::move(result.tensor)};
}

absl::StatusOr<std::vector<Tensor>> EvaluateResize(const EvaluateContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto grids,
                            GridsOf(context.attributes, context.inputs[0]->dims()));
  if (IsCrop(context.attributes) && !context.attributes.Has("roi")) {
    return ShapeError("Resize to a region of interest that is not given");
  }
  for (const AxisGrid& grid : *grids) {
    if (grid.in == 0 && grid.out > 0) return ShapeError("Resize of an empty tensor");
  }
  return IsNearest(context.attributes) ? EvaluateNearest(context, *grids)
                                       : EvaluateInterpolated(context, *grids);
}

bool HasFewBinaryPlaces(double number) { return number * 1024 == std::trunc(number * 1024); }

// Whether every runtime rounds the coordinate to the same index. It is exact everywhere if it and
// the scale have few binary places; otherwise it may differ a little.
bool RoundsCertainly(const std::string& rounding, double coordinate, const AxisGrid& grid) {
  if (HasFewBinaryPlaces(grid.scale) && HasFewBinaryPlaces(coordinate)) return true;
  const int64_t size = grid.in;
  const double slack = 1e-6 * static_cast<double>(size + 1);
  const auto index = [&](double x) {
    return std::clamp<int64_t>(RoundToIndex(rounding, static_cast<float>(x), size), 0, size - 1);
  };
  return index(coordinate - slack) == index(coordinate + slack);
}

// Runtimes compute regions of interest in ways that differ by more than rounding at their borders.
// Interpolated integers are truncated, so a rounding error can change them by one.
bool ResizesCertainly(const EvaluateContext& context, std::span<const Tensor>) {
  if (IsCrop(context.attributes)) return false;
  const Tensor& input = *context.inputs[0];
  if (!IsNearest(context.attributes)) return model::IsFloat(input.dtype()) && IsTame(input);
  const auto grids = GridsOf(context.attributes, input.dims());
  if (!grids.ok() || !grids->has_value()) return false;
  const std::string transformation = ResizeTransformation(context.attributes);
  const std::string rounding = context.attributes.GetString("nearest_mode", "round_prefer_floor");
  for (const AxisGrid& grid : **grids) {
    for (int64_t i = 0; i < grid.out; ++i) {
      const double at = Coordinate<double>(transformation, grid, i);
      if (!RoundsCertainly(rounding, at, grid)) return false;
    }
  }
  return true;
}

// Weights of neighbours add up to 1 up to rounding; an infinite one times 0 is NaN. Those of a
// cubic are negative in part.
Interval BoundsOfResize(const BoundsContext& context) {
  if (IsCubic(context.attributes)) return {};
  const double outside = context.attributes.GetFloat("extrapolation_value", 0);
  const Interval x = context.in(0);
  const Interval mixed{x.low, x.high, x.may_be_nan || !x.bounded()};
  return InType(context.dtype(), Hull(mixed, {outside, outside, std::isnan(outside)}),
                kFunctionSlack);
}

}  // namespace

std::span<const OpDef> ResizeOps() {
  using Kind = AttributeDef::Kind;
  using ParameterKind = Parameter::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Resize",
       .op_class = OpClass::kMove,
       .min_inputs = 1,
       .max_inputs = 4,
       .max_outputs = 1,
       .since_opset = 11,
       .layout = LayoutRole::kTied,
       .numerics = {.bounds = BoundsOfResize},
       .parameters = {{1, "roi", ParameterKind::kFloats},
                      {2, "scales", ParameterKind::kFloats},
                      {3, "sizes", ParameterKind::kInts}},
       .attributes =
           {{"antialias", Kind::kInt, Attribute(int64_t{0})},
            {"axes", Kind::kInts, {}},
            {"coordinate_transformation_mode", Kind::kString, Attribute(std::string("half_pixel"))},
            {"cubic_coeff_a", Kind::kFloat, Attribute(-0.75)},
            {"exclude_outside", Kind::kInt, Attribute(int64_t{0})},
            {"extrapolation_value", Kind::kFloat, Attribute(0.0)},
            {"keep_aspect_ratio_policy", Kind::kString, Attribute(std::string("stretch"))},
            {"mode", Kind::kString, Attribute(std::string("nearest"))},
            {"nearest_mode", Kind::kString, Attribute(std::string("round_prefer_floor"))}},
       .infer = InferResize,
       .evaluate = EvaluateResize,
       .canonicalize = CanonicalizeResize,
       .accepts = KnowsResize,
       .is_certain = ResizesCertainly},
  };
  return rows;
}

}  // namespace quotient::ops
