// ConvTranspose: the adjoint of Conv. A matrix product (gemm.h) computes what each input element
// contributes through each tap of the window; a scatter (window.h) adds the contributions up.

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/checked.h"
#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/conv_inputs.h"
#include "core/ops/dims.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/gemm.h"
#include "core/ops/support.h"
#include "core/ops/window.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::Dim;
using model::DType;
using model::Ints;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Rows = GemmOperand::Rows;

// --- The window ---

// The window slides over the *output*; each of its positions is an element of the input.
struct TransposedWindow {
  Window window;
  Ints output_padding;
  Shape output;  // Spatial dimensions.
};

// Sets the pads from the attribute or as auto_pad requires. With SAME padding each input element
// makes `stride` output elements, so the pads do not depend on the input's dimensions.
absl::Status SetPads(const AttributeMap& attributes, AutoPad auto_pad, TransposedWindow& t) {
  const size_t axes = t.window.axes();
  if (auto_pad == AutoPad::kNone) {
    QUOTIENT_ASSIGN_OR_RETURN(const Ints pads, ReadPerAxis(attributes, "pads", 2 * axes, 0, 0));
    t.window.pads_begin.assign(pads.begin(), pads.begin() + axes);
    t.window.pads_end.assign(pads.begin() + axes, pads.end());
  } else if (auto_pad != AutoPad::kValid) {
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t total = t.window.Extent(axis) + t.output_padding[axis] - t.window.strides[axis];
      SplitPadding(std::max<int64_t>(0, total), auto_pad == AutoPad::kSameLower,
                   t.window.pads_begin[axis], t.window.pads_end[axis]);
    }
  }
  return absl::OkStatus();
}

// The size of the output along an axis with the present pads.
absl::StatusOr<Dim> OutputSize(const TransposedWindow& t, size_t axis, const Dim& input) {
  const int64_t stride = t.window.strides[axis];
  const int64_t growth =
      t.window.Extent(axis) - 1 + t.output_padding[axis] - t.window.Padding(axis);
  if (!input.is_number()) return FloorDim(MulDims(input, stride), growth + 1 - stride, 1);
  const std::optional<int64_t> steps = CheckedMul(input.number() - 1, stride);
  const std::optional<int64_t> size = steps ? CheckedAdd(*steps, growth + 1) : std::nullopt;
  if (!size || *size < 1) {
    return ShapeError("an input of ", input.number(), " leaves no output along spatial axis ",
                      axis);
  }
  return Dim(*size);
}

// Chooses pads, and an output padding smaller than the stride, so that the output has the size
// given by attribute output_shape.
absl::Status PadToOutputShape(const Ints& wanted, std::span<const Dim> input, AutoPad auto_pad,
                              TransposedWindow& t) {
  const size_t axes = t.window.axes();
  if (wanted.size() != axes && wanted.size() != axes + 2) {  // With or without batch and channels.
    return ShapeError("attribute output_shape has ", wanted.size(), " numbers, not ", axes);
  }
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t size = wanted[wanted.size() - axes + axis];
    if (size < 1) return ShapeError("attribute output_shape has the number ", size);
    t.output[axis] = size;
    t.window.pads_known &= input[axis].is_number();
    if (!input[axis].is_number()) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const Dim natural, OutputSize(t, axis, input[axis]));
    const int64_t excess = std::max<int64_t>(0, size - natural.number());
    if (excess >= t.window.strides[axis]) {
      return ShapeError("attribute output_shape asks for ", size, " elements along spatial axis ",
                        axis, ", where only ", natural.number(), " are reached");
    }
    t.output_padding[axis] += excess;
    SplitPadding(natural.number() + excess - size, auto_pad != AutoPad::kSameUpper,
                 t.window.pads_begin[axis], t.window.pads_end[axis]);
  }
  return absl::OkStatus();
}

absl::StatusOr<TransposedWindow> ReadTransposedWindow(const AttributeMap& attributes,
                                                      const Ints& kernel,
                                                      std::span<const Dim> input) {
  TransposedWindow t;
  QUOTIENT_ASSIGN_OR_RETURN(t.window, ReadUnpaddedWindow(attributes, kernel));
  const size_t axes = t.window.axes();
  if (input.size() != axes) {
    return ShapeError("a kernel along ", axes, " axes over an input with ", input.size());
  }
  QUOTIENT_ASSIGN_OR_RETURN(t.output_padding,
                            ReadPerAxis(attributes, "output_padding", axes, 0, 0));
  QUOTIENT_ASSIGN_OR_RETURN(const AutoPad auto_pad, ReadAutoPad(attributes));
  t.output.resize(axes);
  if (const Ints* wanted = attributes.FindInts("output_shape"); wanted != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(PadToOutputShape(*wanted, input, auto_pad, t));
    return t;
  }
  QUOTIENT_RETURN_IF_ERROR(SetPads(attributes, auto_pad, t));
  for (size_t axis = 0; axis < axes; ++axis) {
    QUOTIENT_ASSIGN_OR_RETURN(t.output[axis], OutputSize(t, axis, input[axis]));
  }
  return t;
}

// --- Inference ---

absl::StatusOr<InferResult> InferConvTranspose(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, 0, 3));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, dtype));
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t groups, ReadGroups(context.attributes));
  const Shape* input = ShapeAt(context, 0);
  const Shape* weights = ShapeAt(context, 1);
  QUOTIENT_RETURN_IF_ERROR(CheckRanks(input, weights));
  if (input == nullptr) return UnknownShape(dtype);
  QUOTIENT_RETURN_IF_ERROR(CheckDivides(groups, (*input)[1]));
  Shape shape(input->size());
  shape[0] = (*input)[0];
  if (weights != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(CheckMultiple((*input)[1], (*weights)[0], 1, "input channels"));
    shape[1] = MulDims((*weights)[1], groups);
  }
  QUOTIENT_RETURN_IF_ERROR(CheckBias(context, shape[1]));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Ints> kernel,
                            ReadKernel(context.attributes, weights));
  if (kernel) {
    QUOTIENT_ASSIGN_OR_RETURN(
        const TransposedWindow t,
        ReadTransposedWindow(context.attributes, *kernel, SpatialDims(*input)));
    std::copy(t.output.begin(), t.output.end(), shape.begin() + 2);
  }
  return OneOutput(TensorType(dtype, std::move(shape)));
}

absl::Status CanonicalizeConvTranspose(model::Node& node, std::span<const InferInput> inputs) {
  const Shape* input = ShapeOf(inputs, 0);
  const Shape* weights = ShapeOf(inputs, 1);
  QUOTIENT_RETURN_IF_ERROR(CheckRanks(input, weights));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Ints> kernel, ReadKernel(node.attributes, weights));
  if (!kernel) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(
      const TransposedWindow t,
      ReadTransposedWindow(node.attributes, *kernel, SpatialInput(input, kernel->size())));
  WriteWindow(t.window, node.attributes);
  if (t.window.pads_known) {
    node.attributes.Erase("output_shape");
    node.attributes.Set("output_padding", t.output_padding);
  }
  if (*std::max_element(t.output_padding.begin(), t.output_padding.end()) == 0) {
    node.attributes.Erase("output_padding");
  }
  EraseKernelShape(weights, node.attributes);
  return absl::OkStatus();
}

// --- Evaluation ---

// Output channels [begin, begin + count) of one group of one image.
struct Piece {
  int64_t image_group;
  int64_t begin;
  int64_t count;
};

class TransposedConv {
 public:
  TransposedConv(const EvaluateContext& context, const WindowTaps& taps)
      : context_(context),
        taps_(taps),
        input_(*context.inputs[0]),
        weights_(*context.inputs[1]),
        groups_(context.attributes.GetInt("group", 1)),
        group_in_(weights_.dims()[0] / groups_),
        group_out_(weights_.dims()[1]),
        bias_(LoadBias(context, group_out_ * groups_)),
        result_(context.output_types[0]) {}

  Tensor Evaluate() {
    // The products of one piece are stored until they are added up, at most 64 MB.
    const int64_t per_channel = std::max<int64_t>(1, taps_.taps() * taps_.positions());
    const int64_t channels = std::max<int64_t>(1, (int64_t{8} << 20) / per_channel);
    for (int64_t image_group = 0; image_group < input_.dims()[0] * groups_; ++image_group) {
      for (int64_t begin = 0; begin < group_out_; begin += channels) {
        EvaluatePiece({image_group, begin, std::min(channels, group_out_ - begin)});
      }
    }
    return std::move(result_.tensor);
  }

 private:
  // Multiplies the transposed weights [channels out x taps, channels in] by the input [channels in,
  // positions], then scatters the row of each tap into the output.
  void EvaluatePiece(const Piece& piece) {
    const GemmSize size{.m = piece.count * taps_.taps(), .n = taps_.positions(), .k = group_in_};
    products_.resize(size.m * size.n);
    const int64_t first_in = piece.image_group % groups_ * group_in_;
    const GemmOperand left{
        Rows::kInner, [&](int64_t, int64_t row, int64_t begin, std::span<double> out) {
          const int64_t from = ((first_in + row) * group_out_ + piece.begin) * taps_.taps() + begin;
          weights_.Load(from, out);
        }};
    const GemmOperand right{
        Rows::kInner, [&](int64_t, int64_t row, int64_t begin, std::span<double> out) {
          input_.Load((piece.image_group * group_in_ + row) * size.n + begin, out);
        }};
    const auto write = [&](int64_t, int64_t row, int64_t column, std::span<double> values) {
      std::copy(values.begin(), values.end(), products_.begin() + row * size.n + column);
    };
    Gemm(size, left, right, write, context_.threads);
    ParallelFor(piece.count, 1, context_.threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) AddUp(piece, i);
    });
  }

  void AddUp(const Piece& piece, int64_t i) {
    const int64_t channel = piece.begin + i;
    std::vector<double> plane(taps_.plane_size(),
                              bias_[piece.image_group % groups_ * group_out_ + channel]);
    for (int64_t tap = 0; tap < taps_.taps(); ++tap) {
      const int64_t row = i * taps_.taps() + tap;
      taps_.Scatter(std::span(products_).subspan(row * taps_.positions(), taps_.positions()), tap,
                    plane.data());
    }
    model::Store(result_.tensor.dtype(), result_.bytes,
                 (piece.image_group * group_out_ + channel) * taps_.plane_size(),
                 std::span<const double>(plane));
  }

  const EvaluateContext& context_;
  const WindowTaps& taps_;
  const Tensor& input_;
  const Tensor& weights_;
  const int64_t groups_;
  const int64_t group_in_;
  const int64_t group_out_;
  const std::vector<double> bias_;
  NewTensor result_;
  std::vector<double> products_;
};

absl::StatusOr<std::vector<Tensor>> EvaluateConvTranspose(const EvaluateContext& context) {
  const Ints positions = SpatialDims(context.inputs[0]->dims());
  QUOTIENT_ASSIGN_OR_RETURN(
      const TransposedWindow t,
      ReadTransposedWindow(context.attributes, SpatialDims(context.inputs[1]->dims()),
                           Shape(positions.begin(), positions.end())));
  const WindowTaps taps(t.window, SpatialDims(context.output_types[0].dims()), positions);
  constexpr int64_t kMostProducts = int64_t{1} << 31;  // For one channel: 16 GiB.
  if (!(CheckedMul(taps.taps(), taps.positions()).value_or(kMostProducts) < kMostProducts)) {
    return MakeError(Reason::kLimitBytes,
                     absl::StrCat("a kernel of ", taps.taps(), " elements over ", taps.positions(),
                                  " elements is too large"));
  }
  return std::vector<Tensor>{TransposedConv(context, taps).Evaluate()};
}

// --- Facts ---

// Each output adds at most all inputs in the window.
Interval BoundsOfConvTranspose(const BoundsContext& context) {
  return BoundsOfConvolution(context, /*first_window_axis=*/2, SizeAt(context, 1, 0));
}

double ConvTransposeTerms(const model::AttributeMap&, const Dims& weights) {
  return static_cast<double>(weights[0]) * ProductFrom(2, weights);
}

// One product per group. Rows are input pixels, columns are all outputs that a pixel contributes
// to.
Products ProductsOfConvTranspose(const model::AttributeMap& attributes, const Dims& input,
                                 const Dims& weights, const Dims&) {
  const double groups = static_cast<double>(attributes.GetInt("group", 1));
  return {.batch = groups,
          .m = static_cast<double>(input[0]) * ProductFrom(2, input),
          .n = ProductFrom(1, weights),
          .k = static_cast<double>(weights[0]) / groups};
}

}  // namespace

std::span<const OpDef> ConvTransposeOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *[] {
    OpDef row = ConvolutionRow("ConvTranspose", 1);
    row.attributes.push_back({"output_padding", Kind::kInts, std::nullopt});
    row.attributes.push_back({"output_shape", Kind::kInts, std::nullopt});
    row.infer = InferConvTranspose;
    row.evaluate = EvaluateConvTranspose;
    row.canonicalize = CanonicalizeConvTranspose;
    row.numerics.bounds = BoundsOfConvTranspose;
    row.contraction = {.products = ProductsOfConvTranspose, .terms = ConvTransposeTerms};
    return new std::vector<OpDef>{row};
  }();
  return rows;
}

}  // namespace quotient::ops
