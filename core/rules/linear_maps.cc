// Rules that write a linear operator of fixed sizes as products with constants. Runtimes multiply
// matrices faster than they do most other things, even if many elements of one are zero.

#include <complex>
#include <optional>
#include <utility>
#include <vector>

#include "core/ops/resize_grid.h"
#include "core/ops/stft.h"
#include "core/rules/conv_window.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Resize(x) = (H x) W along the last two axes, linear or cubic; H and W have the weights of samples
resize-product: ?z = Resize[?r](?x) => resize_product(?r, ?x, ?z) if smooth(?z)
# STFT(x, w) = Conv(x, f w), x real; f has the cosines and sines of a Fourier transform as channels
stft-conv: ?z = STFT[?s](?x, ?w...) => stft_conv(?s, ?x, ?w, ?z) if smooth(?z)
)";

// --- Resize

// A constant of more elements makes models large, and products with it slow.
constexpr int64_t kMostElements = int64_t{1} << 20;
// Longer axes are not looked at.
constexpr int64_t kMostSamples = int64_t{1} << 16;

// An axis whose size or samples change, as a matrix.
struct ResizedAxis {
  int64_t in;
  int64_t out;
  std::vector<double> weights;  // [out, in]

  double growth() const { return static_cast<double>(out) / static_cast<double>(in); }
};

// Nullopt if the samples are the elements. An axis that has no matrix has no weights.
std::optional<ResizedAxis> ReadAxis(const AttributeMap& attributes, const ops::AxisGrid& grid) {
  ResizedAxis axis{grid.in, grid.out, {}};
  if (grid.in < 1 || grid.in > kMostSamples || grid.out < 1 || grid.out > kMostSamples) {
    return axis;
  }
  const std::vector<ops::Sample> samples = ops::SamplesOf(attributes, grid);
  if (ops::IsIdentity(samples, grid.in)) return std::nullopt;
  if (grid.in * grid.out > kMostElements) return axis;
  std::vector<double> weights(static_cast<size_t>(grid.in * grid.out), 0);
  for (int64_t i = 0; i < grid.out; ++i) {
    const ops::Sample& sample = samples[i];
    if (sample.is_outside) return axis;  // The value there is no element of the input.
    for (int tap = 0; tap < sample.taps; ++tap) {
      weights[i * grid.in + sample.index[tap]] += sample.weight[tap];
    }
  }
  axis.weights = std::move(weights);
  return axis;
}

ClassId Matrix(Terms& terms, const ResizedAxis& axis) {
  return terms.Constant(model::DType::kFloat32, {axis.out, axis.in}, std::span(axis.weights));
}
ClassId Rows(Terms& terms, const ResizedAxis& axis, ClassId x) {
  return terms.Op("MatMul", {Matrix(terms, axis), x});
}
ClassId Columns(Terms& terms, const ResizedAxis& axis, ClassId x) {
  return terms.Op("MatMul", {x, terms.Transpose(Matrix(terms, axis), {1, 0})});
}

// Whether the axes before the last two are certainly left as they are.
bool KeepsBatches(const AttributeMap& attributes, std::span<const ops::AxisGrid> grids,
                  const TensorType& x, const TensorType& z) {
  // A region of interest is a share of the axis, whatever its size is.
  const bool is_crop = ops::ResizeTransformation(attributes) == "tf_crop_and_resize";
  for (int axis = 0; axis + 2 < x.rank(); ++axis) {
    const ops::AxisGrid& grid = grids[axis];
    if (!model::SameDim(x.dim(axis), z.dim(axis)) || grid.scale != 1 ||
        (is_crop && !x.dim(axis).is_number()) || ReadAxis(attributes, grid)) {
      return false;
    }
  }
  return true;
}

// The grids of all axes if only the last two change, whose sizes are numbers, and there is
// something to interpolate.
std::optional<std::vector<ops::AxisGrid>> ReadGrids(const AttributeMap& attributes,
                                                    const TensorType& x, const TensorType& z) {
  if (x.dtype != model::DType::kFloat32 || !x.has_rank() || !z.has_rank() || x.rank() != z.rank() ||
      x.rank() < 2 || !NumberAt(x, -1) || !NumberAt(x, -2) ||
      attributes.GetString("mode", "nearest") == "nearest") {
    return std::nullopt;
  }
  Ints dims;  // Any number may stand for a symbol that is not resized.
  for (const model::Dim& dim : *x.shape) dims.push_back(dim.is_number() ? dim.number() : 1);
  const auto grids = ops::GridsOf(attributes, dims);
  if (!grids.ok() || !grids->has_value() || !KeepsBatches(attributes, **grids, x, z)) {
    return std::nullopt;
  }
  return **grids;
}

// args: r, x, z
ClassId ResizeProduct(Terms& terms, std::span<const Binding> args) {
  const AttributeMap& attributes = terms.word(args[0].op).attributes;
  ClassId x = args[1].id;
  const auto grids = ReadGrids(attributes, terms.type(x), terms.type(args[2].id));
  if (!grids) return ClassId();
  const auto rows = ReadAxis(attributes, grids->end()[-2]);
  const auto columns = ReadAxis(attributes, grids->back());
  if ((rows && rows->weights.empty()) || (columns && columns->weights.empty())) return ClassId();
  // What shrinks most goes first.
  const bool rows_first = rows && columns && rows->growth() < columns->growth();
  if (rows_first) x = Rows(terms, *rows, x);
  if (columns) x = Columns(terms, *columns, x);
  if (rows && !rows_first) x = Rows(terms, *rows, x);
  return x;
}

// --- STFT

// What all frames of a real signal of one axis are multiplied by.
struct Frame {
  int64_t step;
  int64_t frequencies;
  std::vector<double> window;

  int64_t length() const { return static_cast<int64_t>(window.size()); }
  // A channel for the real part of each frequency, and one for its imaginary part.
  int64_t channels() const { return 2 * frequencies; }
};

// The operands behind the signal are the step and the window, and what is an attribute is absent.
// Nullopt if a size or the window is no constant, or if the factors would be too many.
std::optional<Frame> ReadFrame(const Terms& terms, const AttributeMap& attributes,
                               std::span<const ClassId> operands, const TensorType& z) {
  constexpr size_t kWindow = 1;
  const int64_t length = attributes.GetInt("frame_length", 0);
  const auto frequencies = NumberAt(z, 2);
  if (!attributes.Has("frame_step") || length < 1 || !frequencies || operands.size() > 2 ||
      2 * *frequencies > kMaxWeightElements / length) {
    return std::nullopt;
  }
  Frame frame{.step = attributes.GetInt("frame_step", 1), .frequencies = *frequencies};
  if (operands.size() <= kWindow) {
    frame.window.assign(static_cast<size_t>(length), 1);
  } else {
    const ClassData& window = terms.data(operands[kWindow]);
    if (!window.constant) return std::nullopt;
    frame.window = window.constant->AsDoubles();
  }
  return frame;
}

// [channels, 1, samples of a frame]
ClassId FactorsOf(Terms& terms, const Frame& frame) {
  const int64_t length = frame.length();
  const std::vector<std::complex<double>> factors = ops::FourierFactors(length);
  std::vector<double> weights;
  for (int64_t channel = 0; channel < frame.channels(); ++channel) {
    for (int64_t sample = 0; sample < length; ++sample) {
      const std::complex<double> factor = factors[channel / 2 * sample % length];
      weights.push_back(frame.window[sample] * (channel % 2 == 0 ? factor.real() : factor.imag()));
    }
  }
  return terms.Constant(model::DType::kFloat32, {frame.channels(), 1, length}, weights);
}

// args: s, x, w, z
ClassId StftConv(Terms& terms, std::span<const Binding> args) {
  const TensorType x = terms.type(args[1].id), z = terms.type(args[3].id);
  if (x.dtype != model::DType::kFloat32 || !x.has_rank() || x.rank() != 3 || !x.dim(2).Is(1)) {
    return ClassId();
  }
  const auto frame = ReadFrame(terms, terms.word(args[0].op).attributes, args[2].list, z);
  if (!frame) return ClassId();
  const Convolution conv{.group = 1,
                         .kernel = {frame->length()},
                         .strides = {frame->step},
                         .dilations = {1},
                         .pads = {0, 0},
                         .out_channels = frame->channels(),
                         .in_channels_per_group = 1};
  const Ints channels_first = {0, 2, 1};  // And back.
  const ClassId channels =
      MakeConv(terms, ConvolutionAttributes(conv), terms.Transpose(args[1].id, channels_first),
               FactorsOf(terms, *frame), std::nullopt);
  return terms.ReshapeTo(terms.Transpose(channels, channels_first), z);
}

void AddWords(Words& words) {
  words.Term("resize_product", "occ", ResizeProduct);
  words.Term("stft_conv", "oclc", StftConv);
}

}  // namespace

Family LinearMapsFamily() { return {"linear-maps", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
