// MaxPool and AveragePool: one thread scans the window of one output, or of neighbouring channels
// if these are contiguous in memory.

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"
#include "core/ops/window.h"

namespace quotient::kernels::cuda {
namespace {

// Surrounds the loops over the window, whose innermost body reads at `at`.
constexpr char kBegin[] = R"(
extern "C" __global__ void pool(const T* in, T* out) {
  const Index i = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (i >= kTotal) return;
  float values[kPack];
#pragma unroll
  for (int k = 0; k < kPack; ++k) values[k] = kInitial;
  int taps = 1;
  const Index image = image_offset(i);
)";
constexpr char kBody[] = R"(
    const Pack<T, kPack> pack = load_pack<kPack>(in + at);
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const float x = widen(pack.at[k]);
      values[k] = kIsMax ? (values[k] > x || values[k] != values[k] ? values[k] : x)
                         : values[k] + x;
    }
)";
constexpr char kEnd[] = R"(
  Pack<T, kPack> results;
#pragma unroll
  for (int k = 0; k < kPack; ++k) {
    results.at[k] = narrow<T>(kIsMax ? values[k] : values[k] / (float)taps);
  }
  store_pack(out + i, results);
}
)";

// Whether the window lies inside [low, high) at every position.
bool AlwaysInside(const ops::Window& window, size_t axis, int64_t positions, int64_t low,
                  int64_t high) {
  const int64_t last = (positions - 1) * window.strides[axis] - window.pads_begin[axis];
  return -window.pads_begin[axis] >= low && last + window.Extent(axis) <= high;
}

// Writes where the window begins along each axis, the taps that an average counts, and the loops.
class PoolWriter {
 public:
  PoolWriter(const KernelSpec& spec, const ops::Window& window, const std::string& index_type)
      : input_(spec.inputs[0]),
        output_(spec.outputs[0]),
        window_(window),
        index_type_(index_type),
        counts_taps_(spec.op == "AveragePool"),
        counts_padding_(spec.attributes.GetInt("count_include_pad", 0) != 0),
        strides_(StridesOf(input_.type.dims(), input_.layout)) {
    for (size_t axis = 0; axis < window.axes(); ++axis) AddAxis(axis);
  }

  std::string Text() const {
    std::string at = "image";
    std::string closing;
    for (size_t axis = 0; axis < window_.axes(); ++axis) {
      absl::StrAppend(&at, " + (Index)a", axis, " * ", strides_[axis + 2]);
      closing += "  }\n";
    }
    return absl::StrCat(begins_, loops_, "    const Index at = ", at, ";", kBody, closing);
  }

 private:
  int64_t Size(const Operand& operand, size_t axis) const {
    return operand.type.dim(static_cast<int>(axis) + 2).number();
  }

  void AddAxis(size_t axis) {
    const int64_t size = Size(input_, axis), positions = Size(output_, axis);
    const std::string coordinate =
        CoordinateText(output_, static_cast<int>(axis) + 2, "i", index_type_);
    absl::StrAppend(&begins_,
                    absl::Substitute("  const int o$0 = (int)($1) * $2 - $3;\n", axis, coordinate,
                                     window_.strides[axis], window_.pads_begin[axis]));
    if (counts_taps_) AddTaps(axis, size, positions);
    absl::StrAppend(&loops_, absl::Substitute(R"(
#pragma unroll 4
  for (int k$0 = 0; k$0 < $1; ++k$0) {
    const int a$0 = o$0 + k$0 * $2;
)",
                                              axis, window_.kernel[axis], window_.dilations[axis]));
    if (!AlwaysInside(window_, axis, positions, 0, size)) {
      absl::StrAppend(&loops_,
                      absl::Substitute("    if (a$0 < 0 || a$0 >= $1) continue;\n", axis, size));
    }
  }

  // With ceil_mode a window may reach beyond the padding, too.
  void AddTaps(size_t axis, int64_t size, int64_t positions) {
    const int64_t low = counts_padding_ ? -window_.pads_begin[axis] : 0;
    const int64_t high = size + (counts_padding_ ? window_.pads_end[axis] : 0);
    if (AlwaysInside(window_, axis, positions, low, high)) {
      absl::StrAppend(&begins_, "  taps *= ", window_.kernel[axis], ";\n");
      return;
    }
    absl::StrAppend(
        &begins_, absl::Substitute(R"(  int n$0 = 0;
  for (int k = 0; k < $1; ++k) n$0 += o$0 + k * $2 >= $3 && o$0 + k * $2 < $4;
  taps *= n$0;
)",
                                   axis, window_.kernel[axis], window_.dilations[axis], low, high));
  }

  const Operand& input_;
  const Operand& output_;
  const ops::Window& window_;
  const std::string index_type_;
  const bool counts_taps_;
  const bool counts_padding_;
  const std::vector<int64_t> strides_;
  std::string begins_, loops_;
};

// Channels that are read at once; fewer if there would otherwise be few threads.
int64_t PackSize(const Operand& input, const Operand& output) {
  if (input.layout != Layout::kChannelsLast || output.layout != Layout::kChannelsLast) return 1;
  constexpr int64_t kFewThreads = 1 << 14;
  int64_t pack = std::gcd(16 / ElementBytes(input.type.dtype), input.type.dim(1).number());
  while (pack > 1 && output.type.elements() / pack < kFewThreads) pack /= 2;
  return pack;
}

}  // namespace

std::optional<Program> MakePoolProgram(const KernelSpec& spec) {
  const bool is_max = spec.op == "MaxPool";
  if ((!is_max && spec.op != "AveragePool") || spec.inputs.size() != 1 ||
      spec.outputs.size() != 1 || !spec.epilogue.empty()) {
    return std::nullopt;
  }
  const Operand& input = spec.inputs[0];
  const Operand& output = spec.outputs[0];
  const model::Ints* kernel = spec.attributes.FindInts("kernel_shape");
  if (!IsSingleFloat(input.type.dtype) || kernel == nullptr) return std::nullopt;
  const auto window =
      ops::ReadWindow(spec.attributes, *kernel, ops::SpatialDims(*input.type.shape));
  if (!window.ok() || !window->pads_known) return std::nullopt;
  ProgramWriter writer(spec, "pool");
  const int64_t total = output.type.elements();
  if (total == 0) return std::move(writer).Finish();
  const int64_t pack = PackSize(input, output);
  const int64_t packs = total / pack;
  const int block = BlockFor(packs);
  const std::string index_type = IndexType(std::max(total + block * pack, input.type.elements()));
  const std::vector<int64_t> strides = StridesOf(input.type.dims(), input.layout);
  std::vector<WalkAxis> image;  // Batch and channel.
  for (const int axis : PhysicalAxes(output.type.rank(), output.layout)) {
    AppendAxis(image, {output.type.dim(axis).number(), axis < 2 ? strides[axis] : 0});
  }
  Definitions definitions;
  definitions.Type("T", StoredType(input.type.dtype))
      .Type("Index", index_type)
      .Int("kPack", pack)
      .Int("kTotal", total)
      .Bool("kIsMax", is_max)
      .Float("kInitial", is_max ? -std::numeric_limits<double>::infinity() : 0);
  const std::string offset =
      absl::Substitute("__device__ inline Index image_offset(Index i) { return $0; }\n",
                       OffsetText(image, "i", index_type));
  const std::string loops = PoolWriter(spec, *window, index_type).Text();
  writer.Launch("pool", absl::StrCat(definitions.text(), offset, kBegin, loops, kEnd),
                CeilDiv(packs, block), block, {writer.Operand(0), writer.Output(0)});
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
