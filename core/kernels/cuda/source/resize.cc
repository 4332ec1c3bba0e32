// Resize, not cubic: for each axis, tables hold the two input elements around each output and the
// weight of the second. A thread computes one output, or adjacent ones along an axis that keeps its
// size.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"
#include "core/kernels/moves.h"
#include "core/ops/resize_grid.h"

namespace quotient::kernels::cuda {
namespace {

// Output = (1 - weight) * input[first] + weight * input[second].
struct Taps {
  std::vector<int64_t> first;
  std::vector<int64_t> second;
  std::vector<float> weight;

  bool AreIdentity(int64_t in) const {
    std::vector<int64_t> all(static_cast<size_t>(in));
    std::iota(all.begin(), all.end(), 0);
    return first == all && AreWhole();
  }
  // Whether no output lies between two elements.
  bool AreWhole() const {
    return std::all_of(weight.begin(), weight.end(), [](float w) { return w == 0; });
  }
};

Taps MakeTaps(const model::AttributeMap& attributes, const ops::AxisGrid& grid) {
  Taps taps;
  if (attributes.GetString("mode", "nearest") == "nearest") {
    taps.first = taps.second = ops::NearestOf(attributes, grid);
    taps.weight.assign(taps.first.size(), 0);
    return taps;
  }
  for (const ops::Sample& sample : ops::SamplesOf(attributes, grid)) {
    taps.first.push_back(sample.index[0]);
    taps.second.push_back(sample.index[1]);
    taps.weight.push_back(static_cast<float>(sample.weight[1]));
  }
  return taps;
}

constexpr char kBegin[] = R"(
extern "C" __global__ void resize(const T* in, T* out) {
  const Index i = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (i >= kTotal) return;
)";
constexpr char kLinearBegin[] = R"(
  float values[kPack];
#pragma unroll
  for (int k = 0; k < kPack; ++k) values[k] = 0;
#pragma unroll
  for (int corner = 0; corner < (1 << kAxes); ++corner) {
    Index at = base;
    float weight = 1;
)";
constexpr char kLinearEnd[] = R"(
    if (weight == 0) continue;
    const Pack<T, kPack> pack = load_pack<kPack>(in + at);
#pragma unroll
    for (int k = 0; k < kPack; ++k) values[k] += weight * widen(pack.at[k]);
  }
  Pack<T, kPack> results;
#pragma unroll
  for (int k = 0; k < kPack; ++k) results.at[k] = narrow<T>(values[k]);
  store_pack(out + i, results);
}
)";

constexpr int64_t kMostTaps = 1 << 15;
constexpr int kMostLinearAxes = 3;

class ResizeWriter {
 public:
  ResizeWriter(const KernelSpec& spec, const std::vector<ops::AxisGrid>& grids)
      : output_(spec.outputs[0]),
        index_type_(IndexType(
            std::max(spec.inputs[0].type.elements(), output_.type.elements() + (1 << 16)))) {
    const std::vector<int64_t> strides =
        StridesOf(spec.inputs[0].type.dims(), spec.inputs[0].layout);
    for (const int axis : PhysicalAxes(output_.type.rank(), output_.layout)) {
      const ops::AxisGrid& grid = grids[axis];
      Taps taps = MakeTaps(spec.attributes, grid);
      last_is_kept_ = taps.AreIdentity(grid.in);
      kept_.push_back({grid.out, last_is_kept_ ? strides[axis] : 0});
      if (!last_is_kept_) AddAxis(axis, strides[axis], taps);
    }
  }

  // Whether tables would be too large, or there would be too many corners.
  bool TooMuch() const { return num_taps_ > kMostTaps || num_linear_ > kMostLinearAxes; }

  void Launch(ProgramWriter& writer) const {
    const model::DType dtype = output_.type.dtype;
    const int64_t total = output_.type.elements();
    const int64_t inner = last_is_kept_ ? kept_.back().count : 1;
    const int64_t pack = std::gcd(16 / ElementBytes(dtype), inner);
    const int block = BlockFor(total / pack);
    Definitions definitions;
    // Without interpolation, elements are moved as unsigned integers of their size.
    definitions
        .Type("T",
              num_linear_ == 0 ? absl::StrCat("u", 8 * ElementBytes(dtype)) : StoredType(dtype))
        .Type("Index", index_type_)
        .Int("kPack", pack)
        .Int("kAxes", num_linear_)
        .Int("kTotal", total);
    std::string text =
        absl::StrCat(definitions.text(), tables_.text(), kBegin,
                     "  Index base = ", OffsetText(kept_, "i", index_type_), ";\n", reads_);
    if (num_linear_ == 0) {
      text += "  store_pack(out + i, load_pack<kPack>(in + base));\n}\n";
    } else {
      absl::StrAppend(&text, kLinearBegin, corners_, kLinearEnd);
    }
    writer.Launch("resize", text, CeilDiv(total / pack, block), block,
                  {writer.Operand(0), writer.Output(0)});
  }

 private:
  void AddAxis(int axis, int64_t stride, const Taps& taps) {
    num_taps_ += static_cast<int64_t>(taps.first.size());
    tables_.Ints(absl::StrCat("kFirst", axis), taps.first);
    absl::StrAppend(&reads_, absl::Substitute("  const Index i$0 = $1;\n", axis,
                                              CoordinateText(output_, axis, "i", index_type_)));
    if (taps.AreWhole()) {
      absl::StrAppend(&reads_,
                      absl::Substitute("  base += (Index)kFirst$0[i$0] * $1;\n", axis, stride));
      return;
    }
    tables_.Ints(absl::StrCat("kSecond", axis), taps.second)
        .Floats(absl::StrCat("kWeight", axis), taps.weight);
    absl::StrAppend(&reads_, absl::Substitute("  const float w$0 = kWeight$0[i$0];\n", axis));
    absl::StrAppend(
        &corners_,
        absl::Substitute("    at += (Index)(corner & $1 ? kSecond$0[i$0] : kFirst$0[i$0]) * $2;\n"
                         "    weight *= corner & $1 ? w$0 : 1.0f - w$0;\n",
                         axis, 1 << num_linear_, stride));
    ++num_linear_;
  }

  const Operand& output_;
  const std::string index_type_;
  Definitions tables_;
  std::vector<WalkAxis> kept_;
  bool last_is_kept_ = false;
  int64_t num_taps_ = 0;
  int num_linear_ = 0;
  std::string reads_, corners_;
};

}  // namespace

std::optional<Program> MakeResizeProgram(const KernelSpec& spec) {
  if (spec.op != "Resize" || !spec.epilogue.empty()) return std::nullopt;
  const Operand& input = spec.inputs[0];
  const bool nearest = spec.attributes.GetString("mode", "nearest") == "nearest";
  if (!ReadsOnlyInputZero(spec) || ElementBytes(input.type.dtype) == 0 ||
      (!nearest && !IsSingleFloat(input.type.dtype)) || input.layout != spec.outputs[0].layout) {
    return std::nullopt;
  }
  if (spec.attributes.GetString("mode", "nearest") == "cubic") return std::nullopt;
  // This transformation gives samples outside the input a value of their own.
  if (ops::ResizeTransformation(spec.attributes) == "tf_crop_and_resize") return std::nullopt;
  const auto grids = ops::GridsOf(spec.attributes, input.type.dims());
  if (!grids.ok() || !grids->has_value()) return std::nullopt;
  ProgramWriter writer(spec, "resize");
  if (spec.outputs[0].type.elements() == 0) return std::move(writer).Finish();
  if (input.type.elements() == 0) return std::nullopt;
  const ResizeWriter resize(spec, **grids);
  if (resize.TooMuch()) return std::nullopt;
  resize.Launch(writer);
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
