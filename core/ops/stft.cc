// STFT: discrete Fourier transforms of equally long frames of a signal, times a window, that begin
// a step apart. A signal is [batch, samples, 1], or 2 if it is complex, and the last axis may be
// missing. The result is [batch, frames, frequencies, 2], of which the last axis has the real and
// the imaginary part. If it is one-sided, only the first half of the frequencies is there, of which
// the others of a real signal are the conjugates.

#include "core/ops/stft.h"

#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/dims.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/gemm.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::Dim;
using model::DType;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Complex = std::complex<double>;

constexpr size_t kSignal = 0, kWindow = 2, kFrameLength = 3;
constexpr char kStepAttribute[] = "frame_step", kLengthAttribute[] = "frame_length";
constexpr int64_t kMostSamples = (int64_t{1} << 31) - 1;  // Of a step or a frame.

bool IsInRange(int64_t samples) { return samples >= 1 && samples <= kMostSamples; }

int64_t Frequencies(const AttributeMap& attributes, int64_t length) {
  return attributes.GetInt("onesided", 1) != 0 ? length / 2 + 1 : length;
}

// How many numbers a sample is.
int64_t PartsOfSample(const Dims& signal) { return signal.size() == 3 ? signal[2] : 1; }

// --- Canonical form ---

// The length of frames is known where that of the window is.
absl::Status CanonicalizeStft(Node& node, std::span<const InferInput> inputs) {
  const TensorType* const window = InputAt(inputs, kWindow).type;
  const bool is_input = node.inputs.size() > kFrameLength && node.inputs[kFrameLength].valid();
  if (is_input || node.attributes.Has(kLengthAttribute) || window == nullptr ||
      !window->has_rank() || window->rank() != 1 || !window->dim(0).is_number()) {
    return absl::OkStatus();
  }
  node.attributes.Set(kLengthAttribute, window->dim(0).number());
  return absl::OkStatus();
}

// ONNX Runtime divides by a length of 0, and refuses an STFT without one.
bool AcceptsStft(const Node& node) {
  for (const char* name : {kStepAttribute, kLengthAttribute}) {
    if (!IsInRange(node.attributes.GetInt(name, 1))) return false;
  }
  return node.attributes.Has(kLengthAttribute) || node.inputs.size() > kWindow;
}

// --- Inference ---

// Nullopt if the attribute is not there.
absl::StatusOr<std::optional<int64_t>> SamplesAt(const AttributeMap& attributes, const char* name) {
  if (!attributes.Has(name)) return std::nullopt;
  const int64_t samples = attributes.GetInt(name, 1);
  if (!IsInRange(samples)) return ShapeError("attribute ", name, " is ", samples);
  return samples;
}

absl::Status CheckSignal(const Shape& signal) {
  if (signal.size() != 2 && signal.size() != 3) {
    return ShapeError("a signal of ", signal.size(), " axes");
  }
  if (signal.size() == 3 && signal[2].is_number() && !signal[2].Is(1) && !signal[2].Is(2)) {
    return ShapeError("samples of ", signal[2].number(), " numbers");
  }
  return absl::OkStatus();
}

absl::Status CheckWindow(const Shape& window, std::optional<int64_t> length) {
  if (window.size() != 1) return ShapeError("a window of ", window.size(), " axes");
  if (!length || !window[0].is_number() || window[0].Is(*length)) return absl::OkStatus();
  return ShapeError("a window of ", window[0].number(), " samples for frames of ", *length);
}

absl::StatusOr<Dim> CountFrames(const Dim& samples, int64_t length, int64_t step) {
  if (!samples.is_number()) return FloorDim(samples, step - length, step);
  if (samples.number() < length) {
    return ShapeError("a signal of ", samples.number(), " samples is shorter than a frame of ",
                      length);
  }
  return Dim((samples.number() - length) / step + 1);
}

absl::StatusOr<InferResult> InferStft(const InferContext& context) {
  const DType dtype = DTypeAt(context, kSignal), of_window = DTypeAt(context, kWindow);
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, dtype));
  if (dtype != of_window && dtype != DType::kUndefined && of_window != DType::kUndefined) {
    return ShapeError("signal and window have different element types");
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<int64_t> step,
                            SamplesAt(context.attributes, kStepAttribute));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<int64_t> length,
                            SamplesAt(context.attributes, kLengthAttribute));
  if (const Shape* window = ShapeAt(context, kWindow)) {
    QUOTIENT_RETURN_IF_ERROR(CheckWindow(*window, length));
  }
  Shape shape(4);
  if (const Shape* signal = ShapeAt(context, kSignal)) {
    QUOTIENT_RETURN_IF_ERROR(CheckSignal(*signal));
    shape[0] = (*signal)[0];
    if (length && step) {
      QUOTIENT_ASSIGN_OR_RETURN(shape[1], CountFrames((*signal)[1], *length, *step));
    }
  }
  if (length) shape[2] = Dim(Frequencies(context.attributes, *length));
  shape[3] = Dim(2);
  return OneOutput(TensorType(dtype, std::move(shape)));
}

// --- Evaluation ---

// For each signal of the batch, multiplies the frames [frames, numbers of a frame] by the factors
// [numbers of a frame, frequencies x 2].
absl::StatusOr<std::vector<Tensor>> EvaluateStft(const EvaluateContext& context) {
  const Tensor& signal = *context.inputs[kSignal];
  const Tensor* const window = context.inputs.size() > kWindow ? context.inputs[kWindow] : nullptr;
  const int64_t step = context.attributes.GetInt(kStepAttribute, 1);
  const int64_t length = context.attributes.GetInt(kLengthAttribute, 1);
  const int64_t samples = signal.dims()[1], parts = PartsOfSample(signal.dims());
  std::vector<double> weights(static_cast<size_t>(length), 1);
  if (window != nullptr) window->Load(0, std::span(weights));
  const std::vector<Complex> factors = FourierFactors(length);
  NewTensor result(context.output_types[0]);
  const Dims dims = result.tensor.dims();
  const GemmSize size{.batch = dims[0], .m = dims[1], .n = dims[2] * 2, .k = length * parts};
  const GemmOperand frames{GemmOperand::Rows::kOuter,
                           [&](int64_t batch, int64_t frame, int64_t begin, std::span<double> out) {
                             signal.Load((batch * samples + frame * step) * parts + begin, out);
                           }};
  const GemmOperand transform{
      GemmOperand::Rows::kInner,
      [&](int64_t /*batch*/, int64_t row, int64_t begin, std::span<double> out) {
        const int64_t sample = row / parts;
        const Complex unit = row % parts == 0 ? Complex(1, 0) : Complex(0, 1);
        for (size_t i = 0; i < out.size(); ++i) {
          const int64_t column = begin + static_cast<int64_t>(i);
          const Complex product = unit * factors[column / 2 * sample % length];
          out[i] = weights[sample] * (column % 2 == 0 ? product.real() : product.imag());
        }
      }};
  const auto write = [&](int64_t batch, int64_t frame, int64_t column, std::span<double> values) {
    model::Store(result.tensor.dtype(), result.bytes, (batch * size.m + frame) * size.n + column,
                 std::span<const double>(values));
  };
  Gemm(size, frames, transform, write, context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

// --- Facts ---

// All frames are multiplied by the same factors.
Products ProductsOfStft(const AttributeMap& attributes, const Dims& signal, const Dims&,
                        const Dims& output) {
  const int64_t length = attributes.GetInt(kLengthAttribute, 1);
  return {.batch = 1,
          .m = static_cast<double>(output[0]) * static_cast<double>(output[1]),
          .n = 2 * static_cast<double>(output[2]),
          .k = static_cast<double>(length) * static_cast<double>(PartsOfSample(signal))};
}

Interval BoundsOfStft(const BoundsContext& context) {
  const Interval sample = context.has(kWindow) ? Product(context.in(kSignal), context.in(kWindow))
                                               : context.in(kSignal);
  const Interval term = Product(sample, {-1, 1, false});
  return InType(context.dtype(), SumOf(context.dtype(), term, kUnknownCount), kFunctionSlack);
}

}  // namespace

std::vector<Complex> FourierFactors(int64_t length) {
  std::vector<Complex> factors;
  factors.reserve(static_cast<size_t>(length));
  for (int64_t k = 0; k < length; ++k) {
    const double turn = static_cast<double>(k) / static_cast<double>(length);
    factors.push_back(std::polar(1.0, -2 * std::numbers::pi * turn));
  }
  return factors;
}

std::span<const OpDef> StftOps() {
  using Kind = Parameter::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "STFT",
       .op_class = OpClass::kNormalization,
       .min_inputs = 2,
       .max_inputs = 4,
       .max_outputs = 1,
       .since_opset = 17,
       .numerics = {.bounds = BoundsOfStft, .own_rounding = true},
       .contraction = {.products = ProductsOfStft},
       .parameters = {{1, kStepAttribute, Kind::kInt},
                      {kFrameLength, kLengthAttribute, Kind::kInt}},
       .attributes = {{"onesided", AttributeDef::Kind::kInt, model::Attribute(int64_t{1})}},
       .infer = InferStft,
       .evaluate = EvaluateStft,
       .canonicalize = CanonicalizeStft,
       .accepts = AcceptsStft},
  };
  return rows;
}

}  // namespace quotient::ops
