// Conv: a matrix product (gemm.h) of the weights and the input gathered through the window
// (window.h), or plain loops where each group has few channels.

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/conv_inputs.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/gemm.h"
#include "core/ops/support.h"
#include "core/ops/window.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::DType;
using model::Ints;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Rows = GemmOperand::Rows;

absl::StatusOr<InferResult> InferConv(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, 3));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, dtype));
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t groups, ReadGroups(context.attributes));
  const Shape* input = ShapeAt(context, 0);
  const Shape* weights = ShapeAt(context, 1);
  QUOTIENT_RETURN_IF_ERROR(CheckRanks(input, weights));
  const Dim channels = weights == nullptr ? Dim() : (*weights)[0];
  QUOTIENT_RETURN_IF_ERROR(CheckDivides(groups, channels));
  QUOTIENT_RETURN_IF_ERROR(CheckBias(context, channels));
  if (input == nullptr) return UnknownShape(dtype);
  if (weights != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(CheckMultiple((*input)[1], (*weights)[1], groups, "input channels"));
  }
  Shape shape(input->size());
  shape[0] = (*input)[0];
  shape[1] = channels;
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Ints> kernel,
                            ReadKernel(context.attributes, weights));
  if (kernel) {
    QUOTIENT_ASSIGN_OR_RETURN(const Window window,
                              ReadWindow(context.attributes, *kernel, SpatialDims(*input)));
    for (size_t axis = 0; axis < window.axes(); ++axis) {
      QUOTIENT_ASSIGN_OR_RETURN(shape[axis + 2],
                                OutputDim(window, axis, (*input)[axis + 2], false));
    }
  }
  return OneOutput(TensorType(dtype, std::move(shape)));
}

absl::Status CanonicalizeConv(model::Node& node, std::span<const InferInput> inputs) {
  const Shape* input = ShapeOf(inputs, 0);
  const Shape* weights = ShapeOf(inputs, 1);
  QUOTIENT_RETURN_IF_ERROR(CheckRanks(input, weights));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Ints> kernel, ReadKernel(node.attributes, weights));
  if (!kernel) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const Window window, ReadWindow(node.attributes, *kernel,
                                                            SpatialInput(input, kernel->size())));
  WriteWindow(window, node.attributes);
  EraseKernelShape(weights, node.attributes);
  return absl::OkStatus();
}

std::vector<double> LoadAll(const Tensor& tensor, int threads) {
  std::vector<double> values(tensor.elements());
  ParallelFor(tensor.elements(), int64_t{1} << 16, threads, [&](int64_t begin, int64_t end) {
    tensor.Load(begin, std::span(values).subspan(begin, end - begin));
  });
  return values;
}

// A convolution with all sizes known.
struct ConvPlan {
  ConvPlan(const EvaluateContext& context, const Window& window)
      : weights(*context.inputs[1]),
        type(context.output_types[0]),
        taps(window, SpatialDims(context.inputs[0]->dims()), SpatialDims(type.dims())),
        images(context.inputs[0]->dims()[0]),
        groups(context.attributes.GetInt("group", 1)),
        group_out(weights.dims()[0] / groups),
        group_in(weights.dims()[1]),
        planes(LoadAll(*context.inputs[0], context.threads)),
        bias(LoadBias(context, weights.dims()[0])),
        threads(context.threads) {}

  // Number of weights per output channel.
  int64_t WeightCount() const { return group_in * taps.taps(); }
  const double* Plane(int64_t index) const { return planes.data() + index * taps.plane_size(); }

  const Tensor& weights;
  const TensorType& type;
  const WindowTaps taps;
  const int64_t images, groups;
  const int64_t group_out, group_in;  // Channels per group.
  const std::vector<double> planes;   // The input.
  const std::vector<double> bias;
  const int threads;
};

// For each image and group, multiplies the weights [channels out, channels in x taps] by the
// gathered input [channels in x taps, positions].
Tensor MultiplyGroups(const ConvPlan& plan) {
  const WindowTaps& taps = plan.taps;
  const GemmSize size{.batch = plan.images * plan.groups,
                      .m = plan.group_out,
                      .n = taps.positions(),
                      .k = plan.WeightCount()};
  NewTensor result(plan.type);
  const GemmOperand left{
      Rows::kOuter, [&](int64_t batch, int64_t row, int64_t begin, std::span<double> out) {
        plan.weights.Load((batch % plan.groups * size.m + row) * size.k + begin, out);
      }};
  const GemmOperand right{
      Rows::kInner, [&](int64_t batch, int64_t row, int64_t begin, std::span<double> out) {
        const double* plane = plan.Plane(batch * plan.group_in + row / taps.taps());
        taps.Gather(plane, row % taps.taps(), begin, 0, out);
      }};
  const auto write = [&](int64_t batch, int64_t row, int64_t column, std::span<double> values) {
    const double addend = plan.bias[batch % plan.groups * size.m + row];
    for (double& value : values) value += addend;
    model::Store(plan.type.dtype, result.bytes, (batch * size.m + row) * size.n + column,
                 std::span<const double>(values));
  };
  Gemm(size, left, right, write, plan.threads);
  return std::move(result.tensor);
}

// Computes one output channel at a time without gathering. Used for depthwise convolutions, whose
// groups would make matrices of one row.
Tensor ConvolveChannels(const ConvPlan& plan) {
  const WindowTaps& taps = plan.taps;
  const int64_t channels = plan.groups * plan.group_out;
  NewTensor result(plan.type);
  const int64_t grain = (int64_t{1} << 15) / (plan.WeightCount() * taps.positions() + 1) + 1;
  ParallelFor(plan.images * channels, grain, plan.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> weights(plan.WeightCount()), sums(taps.positions());
    for (int64_t i = begin; i < end; ++i) {
      plan.weights.Load(i % channels * plan.WeightCount(), std::span(weights));
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t k = 0; k < plan.WeightCount(); ++k) {
        const double* plane = plan.Plane(i / plan.group_out * plan.group_in + k / taps.taps());
        taps.AddScaled(plane, k % taps.taps(), weights[k], sums);
      }
      for (double& sum : sums) sum += plan.bias[i % channels];
      model::Store(plan.type.dtype, result.bytes, i * taps.positions(),
                   std::span<const double>(sums));
    }
  });
  return std::move(result.tensor);
}

absl::StatusOr<std::vector<Tensor>> EvaluateConv(const EvaluateContext& context) {
  const std::span<const int64_t> spatial = std::span(context.inputs[0]->dims()).subspan(2);
  QUOTIENT_ASSIGN_OR_RETURN(const Window window,
                            ReadWindow(context.attributes, SpatialDims(context.inputs[1]->dims()),
                                       Shape(spatial.begin(), spatial.end())));
  const ConvPlan plan(context, window);
  const bool narrow = plan.groups > 1 && plan.group_out <= 2;
  return std::vector<Tensor>{narrow ? ConvolveChannels(plan) : MultiplyGroups(plan)};
}

// --- Facts ---

// Each output adds at most all inputs of its group in the window.
Interval BoundsOfConv(const BoundsContext& context) {
  return BoundsOfConvolution(context, /*first_window_axis=*/1, /*channels=*/1);
}

double ConvTerms(const model::AttributeMap&, const Dims& weights) {
  return ProductFrom(1, weights);
}

// One product per group. Rows are output pixels.
Products ProductsOfConv(const model::AttributeMap& attributes, const Dims&, const Dims& weights,
                        const Dims& output) {
  const double groups = static_cast<double>(attributes.GetInt("group", 1));
  return {.batch = groups,
          .m = static_cast<double>(output[0]) * ProductFrom(2, output),
          .n = static_cast<double>(weights[0]) / groups,
          .k = ProductFrom(1, weights)};
}

}  // namespace

std::span<const OpDef> ConvOps() {
  static const auto& rows = *[] {
    OpDef row = ConvolutionRow("Conv", 1);
    row.infer = InferConv;
    row.evaluate = EvaluateConv;
    row.canonicalize = CanonicalizeConv;
    row.numerics.bounds = BoundsOfConv;
    row.contraction = {.products = ProductsOfConv, .terms = ConvTerms};
    return new std::vector<OpDef>{row};
  }();
  return rows;
}

}  // namespace quotient::ops
