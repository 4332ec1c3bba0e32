// Normalizations over the trailing axes (LayerNormalization, RMSNormalization) and per channel
// (Batch-, Instance-, GroupNormalization).

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
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

// --- Bounds ---

// (x - mean) / sqrt(variance + e), scaled and shifted: of n numbers none is further from their mean
// than sqrt(n) standard deviations. The variance is computed in float32 at least, perhaps as the
// mean of squares less the square of the mean.
Interval BoundsOfNormalized(const BoundsContext& context, double n) {
  const Interval x = context.in(0);
  const DType moments = context.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const bool guarded = context.attributes.GetFloat("epsilon", 1e-5f) > 0;
  if (!guarded || !x.finite() || !(n * x.magnitude() * x.magnitude() * 4 < LargestOf(moments))) {
    return AnythingOf(context.dtype());
  }
  const double bound = std::sqrt(n) * 1.01;
  Interval result = InType(context.dtype(), {-bound, bound, false});
  if (context.has(1)) {
    result = InType(context.dtype(), Product(result, context.in(1)), kFunctionSlack);
  }
  if (context.has(2)) {
    result = InType(context.dtype(), Sum(result, context.in(2)), kFunctionSlack);
  }
  return result;
}

Interval BoundsOfRows(const BoundsContext& context) {
  return BoundsOfNormalized(context,
                            IsAlongLastAxis(context) ? SizeAt(context, 0, -1) : kUnknownCount);
}
Interval BoundsOfChannels(const BoundsContext& context) {
  return BoundsOfNormalized(context, kUnknownCount);
}

constexpr int kVariance = 4;  // Inputs of a BatchNormalization: x, scale, shift, mean, variance.

Interval BoundsOfBatchNormalization(const BoundsContext& context) {
  if (context.inputs.size() != 5) return AnythingOf(context.dtype());
  const double epsilon = context.attributes.GetFloat("epsilon", 1e-5f);
  const Interval variance = Sum(context.in(kVariance), {epsilon, epsilon, false});
  if (!variance.positive() || !variance.finite()) return AnythingOf(context.dtype());
  const Interval root{std::sqrt(variance.low), std::sqrt(variance.high), false};
  const auto in_type = [&context](const Interval& real) {
    return InType(context.dtype(), real, kFunctionSlack);
  };
  const Interval factor = in_type(Quotient(context.in(1), root));
  // Either x s + (t - m s) or (x - m) s + t.
  const Interval scaled = in_type(Product(context.in(0), factor));
  const Interval mean = in_type(Product(context.in(3), factor));
  const Interval shift = in_type(Sum(context.in(2), Negative(mean)));
  return in_type(Sum(scaled, shift));
}

// --- Rows ---

AttributeDef EpsilonDef() { return {"epsilon", AttributeDef::Kind::kFloat, double{1e-5f}}; }

// The precision in which a runtime computes moments. This evaluator always uses double.
AttributeDef StashTypeDef() { return {"stash_type", AttributeDef::Kind::kInt, int64_t{1}}; }

OpDef BlockRow(const char* name, int since_opset, int max_inputs, EvaluateFn evaluate) {
  return {
      .name = name,
      .op_class = OpClass::kNormalization,
      .min_inputs = 2,
      .max_inputs = max_inputs,
      .max_outputs = 1,
      .since_opset = since_opset,
      .numerics = {.bounds = BoundsOfRows, .own_rounding = true},
      .attributes = {{"axis", AttributeDef::Kind::kInt, int64_t{-1}}, EpsilonDef(), StashTypeDef()},
      .axes = {"axis"},
      .infer = InferLayerNormalization,
      .evaluate = evaluate};
}

OpDef ChannelRow(const char* name, int since_opset, int inputs, InferFn infer, EvaluateFn evaluate,
                 Numerics numerics) {
  return {.name = name,
          .op_class = OpClass::kNormalization,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .max_outputs = 1,
          .since_opset = since_opset,
          .numerics = std::move(numerics),
          .attributes = {EpsilonDef()},
          .infer = infer,
          .evaluate = evaluate};
}

OpDef BatchNormalizationRow() {
  OpDef row = ChannelRow("BatchNormalization", 9, 5, InferPerChannel, EvaluateBatchNormalization,
                         {.bounds = BoundsOfBatchNormalization,
                          .requirements = {{kVariance, Requirement::Kind::kPositive}}});
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
  OpDef row = ChannelRow("GroupNormalization", 21, 3, InferGroupNormalization,
                         EvaluateGroupNormalization, {.own_rounding = true});
  row.attributes.push_back({"num_groups", AttributeDef::Kind::kInt, std::nullopt});
  row.attributes.push_back(StashTypeDef());
  row.is_certain = HasPreciseMoments;
  return row;
}

}  // namespace

std::span<const OpDef> NormalizationOps() {
  static const auto& rows = *new std::vector<OpDef>{
      BlockRow("LayerNormalization", 17, 3, EvaluateLayerNormalization),
      BlockRow("RMSNormalization", 23, 2, EvaluateRmsNormalization),
      BatchNormalizationRow(),
      ChannelRow("InstanceNormalization", 6, 3, InferPerChannel, EvaluateInstanceNormalization,
                 {.bounds = BoundsOfChannels, .own_rounding = true}),
      GroupNormalizationRow(),
  };
  return rows;
}

}  // namespace quotient::ops
