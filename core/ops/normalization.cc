// Normalizations: along an axis (Softmax, LogSoftmax), over the trailing axes (LayerNormalization,
// RMSNormalization), per channel (Batch-, Instance-, GroupNormalization).

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::Dim;
using model::DType;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Outputs = absl::StatusOr<std::vector<Tensor>>;

// --- Softmax, LogSoftmax ---

absl::StatusOr<InferResult> InferAlongAxis(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, DTypeAt(context, 0)));
  if (const Shape* shape = ShapeAt(context, 0); shape != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(
        NormalizeAxis(context.attributes.GetInt("axis", -1), shape->size()).status());
  }
  return OneOutput(*context.inputs[0].type);
}

// The lines of a tensor along an axis, in bundles of lines whose first elements are neighbours.
class Lines {
 public:
  struct Bundle {
    int64_t first;  // The first element of the first line.
    int64_t width;  // Number of lines.
  };

  Lines(std::span<const int64_t> dims, int64_t axis)
      : length(dims[axis]),
        stride(Count(dims.subspan(axis + 1))),
        bundles_per_row_((stride + kWidth - 1) / kWidth),
        bundles_(Count(dims) == 0 ? 0 : Count(dims.first(axis)) * bundles_per_row_) {}

  int64_t bundles() const { return bundles_; }

  Bundle At(int64_t bundle) const {
    const int64_t column = bundle % bundles_per_row_ * kWidth;
    return {bundle / bundles_per_row_ * stride * length + column,
            std::min(kWidth, stride - column)};
  }

  const int64_t length;  // Elements of a line.
  const int64_t stride;  // Distance of its elements.

 private:
  static constexpr int64_t kWidth = 64;
  const int64_t bundles_per_row_;
  const int64_t bundles_;
};

// Calls access(position, part) for the contiguous runs of a bundle. `values` has the bundle's
// elements: element k of line j is values[k * width + j].
template <typename Access>
void VisitRuns(const Lines& lines, const Lines::Bundle& bundle, std::span<double> values,
               const Access& access) {
  if (lines.stride == 1) return access(bundle.first, values);
  for (int64_t k = 0; k < lines.length; ++k) {
    access(bundle.first + k * lines.stride, values.subspan(k * bundle.width, bundle.width));
  }
}

// Calls normalize(values, length, width) on all bundles.
template <typename Normalize>
Outputs EvaluateLines(const EvaluateContext& context, const Normalize& normalize) {
  const Tensor& input = *context.inputs[0];
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(context.attributes.GetInt("axis", -1), input.rank()));
  const Lines lines(input.dims(), axis);
  NewTensor result(context.output_types[0]);
  const int64_t grain = (int64_t{1} << 14) / std::max<int64_t>(lines.length, 1) + 1;
  ParallelFor(lines.bundles(), grain, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> values;
    for (int64_t i = begin; i < end; ++i) {
      const Lines::Bundle bundle = lines.At(i);
      values.resize(lines.length * bundle.width);
      VisitRuns(lines, bundle, values,
                [&](int64_t at, std::span<double> part) { input.Load(at, part); });
      normalize(std::span(values), lines.length, bundle.width);
      VisitRuns(lines, bundle, values, [&](int64_t at, std::span<const double> part) {
        model::Store(input.dtype(), result.bytes, at, part);
      });
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

// Subtracts the largest element of each line, so that no exponential overflows.
void SubtractLargest(std::span<double> values, int64_t length, int64_t width) {
  for (int64_t j = 0; j < width; ++j) {
    double largest = values[j];
    for (int64_t k = 1; k < length; ++k) largest = MaxOf(largest, values[k * width + j]);
    for (int64_t k = 0; k < length; ++k) values[k * width + j] -= largest;
  }
}

Outputs EvaluateSoftmax(const EvaluateContext& context) {
  return EvaluateLines(context, [](std::span<double> values, int64_t length, int64_t width) {
    SubtractLargest(values, length, width);
    for (double& value : values) value = std::exp(value);
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < length; ++k) sum += values[k * width + j];
      for (int64_t k = 0; k < length; ++k) values[k * width + j] /= sum;
    }
  });
}

Outputs EvaluateLogSoftmax(const EvaluateContext& context) {
  return EvaluateLines(context, [](std::span<double> values, int64_t length, int64_t width) {
    SubtractLargest(values, length, width);
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < length; ++k) sum += std::exp(values[k * width + j]);
      const double log_sum = std::log(sum);
      for (int64_t k = 0; k < length; ++k) values[k * width + j] -= log_sum;
    }
  });
}

// --- LayerNormalization, RMSNormalization ---

double Epsilon(const AttributeMap& attributes) { return attributes.GetFloat("epsilon", 1e-5f); }

// Fails with MODEL_SHAPE unless input `index` can be broadcast to the shape.
absl::Status CheckBroadcast(const InferContext& context, size_t index, const Shape& shape) {
  const Shape* own = ShapeAt(context, index);
  if (own == nullptr) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(Shape both, model::Broadcast(*own, shape));
  const TensorType type(DType::kFloat32, shape);
  if (Compatible(TensorType(DType::kFloat32, std::move(both)), type)) return absl::OkStatus();
  return ShapeError("input ", index, " of shape ", ToString(*own), " cannot be broadcast to ",
                    ToString(shape));
}

absl::StatusOr<InferResult> InferLayerNormalization(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, DTypeAt(context, 0)));
  QUOTIENT_ASSIGN_OR_RETURN(InferResult result, InferAlongAxis(context));
  if (const Shape* shape = ShapeAt(context, 0); shape != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(CheckBroadcast(context, 1, *shape));
    QUOTIENT_RETURN_IF_ERROR(CheckBroadcast(context, 2, *shape));
  }
  return result;
}

// Moments of a range of elements.
double Mean(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double MeanSquare(std::span<const double> values, double mean) {
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

// Normalizes blocks of the trailing axes, around their mean or around zero.
Outputs NormalizeBlocks(const EvaluateContext& context, bool around_mean) {
  const Tensor& input = *context.inputs[0];
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(context.attributes.GetInt("axis", -1), input.rank()));
  const double epsilon = Epsilon(context.attributes);
  const int64_t length = Count(std::span(input.dims()).subspan(axis));
  const BroadcastReader scale(*context.inputs[1], input.dims());
  std::optional<BroadcastReader> bias;
  if (context.inputs.size() > 2 && context.inputs[2] != nullptr) {
    bias.emplace(*context.inputs[2], input.dims());
  }
  NewTensor result(context.output_types[0]);
  const int64_t blocks = Count(std::span(input.dims()).first(axis));
  const int64_t grain = (int64_t{1} << 14) / std::max<int64_t>(length, 1) + 1;
  ParallelFor(length == 0 ? 0 : blocks, grain, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> x(length), factors(length), addends(length, 0);
    for (int64_t i = begin; i < end; ++i) {
      input.Load(i * length, std::span(x));
      scale.Load(i * length, std::span(factors));
      if (bias) bias->Load(i * length, std::span(addends));
      const double mean = around_mean ? Mean(x) : 0;
      const double inverse = 1 / std::sqrt(MeanSquare(x, mean) + epsilon);
      for (int64_t k = 0; k < length; ++k) {
        x[k] = (x[k] - mean) * inverse * factors[k] + addends[k];
      }
      model::Store(input.dtype(), result.bytes, i * length, std::span<const double>(x));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

Outputs EvaluateLayerNormalization(const EvaluateContext& context) {
  return NormalizeBlocks(context, /*around_mean=*/true);
}
Outputs EvaluateRmsNormalization(const EvaluateContext& context) {
  return NormalizeBlocks(context, /*around_mean=*/false);
}

// --- Batch-, Instance-, GroupNormalization ---

// The inputs from 1 on are vectors with one element per channel.
absl::StatusOr<InferResult> InferPerChannel(const InferContext& context) {
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, DTypeAt(context, 0)));
  const Shape* shape = ShapeAt(context, 0);
  if (shape != nullptr && shape->size() < 2) {
    return ShapeError("channels of a tensor of rank ", shape->size());
  }
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const Shape* own = ShapeAt(context, i);
    if (own == nullptr) continue;
    const bool fits = own->size() == 1 && (shape == nullptr || !(*own)[0].is_number() ||
                                           !(*shape)[1].is_number() || (*own)[0] == (*shape)[1]);
    if (!fits) {
      return ShapeError("input ", i, " of shape ", ToString(*own),
                        " is no vector with one element per channel");
    }
  }
  return OneOutput(*context.inputs[0].type);
}

absl::StatusOr<InferResult> InferGroupNormalization(const InferContext& context) {
  const int64_t groups = context.attributes.GetInt("num_groups", 0);
  if (groups < 1) return ShapeError("attribute num_groups is ", groups);
  QUOTIENT_ASSIGN_OR_RETURN(InferResult result, InferPerChannel(context));
  const Shape* shape = ShapeAt(context, 0);
  if (shape != nullptr && (*shape)[1].is_number() && (*shape)[1].number() % groups != 0) {
    return ShapeError((*shape)[1].number(), " channels cannot be cut into ", groups, " groups");
  }
  return result;
}

int64_t PlaneSize(const Tensor& tensor) { return Count(std::span(tensor.dims()).subspan(2)); }

Outputs EvaluateBatchNormalization(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[0];
  const std::vector<double> scale = context.inputs[1]->AsDoubles();
  const std::vector<double> bias = context.inputs[2]->AsDoubles();
  const std::vector<double> mean = context.inputs[3]->AsDoubles();
  const std::vector<double> variance = context.inputs[4]->AsDoubles();
  const double epsilon = Epsilon(context.attributes);
  const int64_t channels = input.dims()[1];
  const int64_t plane = PlaneSize(input);
  NewTensor result(context.output_types[0]);
  const int64_t grain = (int64_t{1} << 15) / std::max<int64_t>(plane, 1) + 1;
  ParallelFor(input.dims()[0] * channels, grain, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> x(plane);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % channels;
      const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
      input.Load(i * plane, std::span(x));
      for (double& value : x) value = (value - mean[c]) * factor + bias[c];
      model::Store(input.dtype(), result.bytes, i * plane, std::span<const double>(x));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

// Normalizes groups of channels of each image, then scales and shifts each channel.
Outputs NormalizeGroups(const EvaluateContext& context, int64_t groups) {
  const Tensor& input = *context.inputs[0];
  const std::vector<double> scale = context.inputs[1]->AsDoubles();
  const std::vector<double> bias = context.inputs[2]->AsDoubles();
  const double epsilon = Epsilon(context.attributes);
  const int64_t channels = groups == 0 ? 0 : input.dims()[1] / groups;  // Per group.
  const int64_t plane = PlaneSize(input);
  NewTensor result(context.output_types[0]);
  const int64_t count = input.elements() == 0 ? 0 : input.dims()[0] * groups;
  ParallelFor(count, 1, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> x(channels * plane);
    for (int64_t i = begin; i < end; ++i) {
      input.Load(i * channels * plane, std::span(x));
      const double mean = Mean(x);
      const double inverse = 1 / std::sqrt(MeanSquare(x, mean) + epsilon);
      for (int64_t k = 0; k < channels * plane; ++k) {
        const int64_t c = i % groups * channels + k / plane;
        x[k] = (x[k] - mean) * inverse * scale[c] + bias[c];
      }
      model::Store(input.dtype(), result.bytes, i * channels * plane, std::span<const double>(x));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

Outputs EvaluateInstanceNormalization(const EvaluateContext& context) {
  return NormalizeGroups(context, context.inputs[0]->dims()[1]);
}
Outputs EvaluateGroupNormalization(const EvaluateContext& context) {
  return NormalizeGroups(context, context.attributes.GetInt("num_groups", 1));
}

absl::Status CanonicalizeBatchNormalization(model::Node& node, std::span<const InferInput>) {
  node.attributes.Erase("momentum");  // Used in training only.
  return absl::OkStatus();
}

bool IsInference(const model::Node& node) {
  return node.attributes.GetInt("training_mode", 0) == 0;
}

// --- Rows ---

AttributeDef EpsilonDef() { return {"epsilon", AttributeDef::Kind::kFloat, double{1e-5f}}; }

// The precision in which a runtime computes moments. This evaluator always uses double.
AttributeDef StashTypeDef() { return {"stash_type", AttributeDef::Kind::kInt, int64_t{1}}; }

OpDef AxisRow(const char* name, int since_opset, int inputs, InferFn infer, EvaluateFn evaluate,
              LayoutRole layout = LayoutRole::kPlain) {
  return {.name = name,
          .op_class = OpClass::kNormalization,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .max_outputs = 1,
          .since_opset = since_opset,
          .layout = layout,
          .attributes = {{"axis", AttributeDef::Kind::kInt, int64_t{-1}}},
          .axes = {"axis"},
          .infer = infer,
          .evaluate = evaluate};
}

OpDef BlockRow(const char* name, int since_opset, int max_inputs, EvaluateFn evaluate) {
  OpDef row = AxisRow(name, since_opset, 2, InferLayerNormalization, evaluate);
  row.max_inputs = max_inputs;
  row.attributes.push_back(EpsilonDef());
  row.attributes.push_back(StashTypeDef());
  return row;
}

OpDef ChannelRow(const char* name, int since_opset, int inputs, InferFn infer,
                 EvaluateFn evaluate) {
  return {.name = name,
          .op_class = OpClass::kNormalization,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .max_outputs = 1,
          .since_opset = since_opset,
          .attributes = {EpsilonDef()},
          .infer = infer,
          .evaluate = evaluate};
}

OpDef BatchNormalizationRow() {
  OpDef row = ChannelRow("BatchNormalization", 9, 5, InferPerChannel, EvaluateBatchNormalization);
  row.layout = LayoutRole::kTied;
  row.fusion = Fusion::kBehind;
  row.attributes.push_back({"momentum", AttributeDef::Kind::kFloat, static_cast<double>(0.9f)});
  row.attributes.push_back({"training_mode", AttributeDef::Kind::kInt, int64_t{0}});
  row.canonicalize = CanonicalizeBatchNormalization;
  row.accepts = IsInference;
  return row;
}

// ONNX Runtime computes moments in the stash type, float32 by default.
bool HasPreciseMoments(const EvaluateContext& context, std::span<const Tensor>) {
  const int64_t stash_type = context.attributes.GetInt("stash_type", 1);
  return context.inputs[0]->dtype() != DType::kFloat64 ||
         stash_type == static_cast<int64_t>(DType::kFloat64);
}

// Since opset 21 scale and bias have one element per channel, before that one per group.
OpDef GroupNormalizationRow() {
  OpDef row =
      ChannelRow("GroupNormalization", 21, 3, InferGroupNormalization, EvaluateGroupNormalization);
  row.attributes.push_back({"num_groups", AttributeDef::Kind::kInt, std::nullopt});
  row.attributes.push_back(StashTypeDef());
  row.is_certain = HasPreciseMoments;
  return row;
}

}  // namespace

std::span<const OpDef> NormalizationOps() {
  static const auto& rows = *new std::vector<OpDef>{
      AxisRow("Softmax", 13, 1, InferAlongAxis, EvaluateSoftmax, LayoutRole::kTied),
      AxisRow("LogSoftmax", 13, 1, InferAlongAxis, EvaluateLogSoftmax),
      BlockRow("LayerNormalization", 17, 3, EvaluateLayerNormalization),
      BlockRow("RMSNormalization", 23, 2, EvaluateRmsNormalization),
      BatchNormalizationRow(),
      ChannelRow("InstanceNormalization", 6, 3, InferPerChannel, EvaluateInstanceNormalization),
      GroupNormalizationRow(),
  };
  return rows;
}

}  // namespace quotient::ops
