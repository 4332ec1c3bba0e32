// Pad: each output position computes which element of the input it reads, if any. Neighbours along
// an axis that keeps its size are moved together.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"
#include "core/kernels/moves.h"

namespace quotient::kernels::cuda {
namespace {

// The position that a coordinate outside [0, size) reads.
constexpr char kFunctions[] = R"(
__device__ inline int edge(int at, int size) { return at < 0 ? 0 : at < size ? at : size - 1; }
__device__ inline int wrap(int at, int size) { return (at % size + size) % size; }
__device__ inline int reflect(int at, int size) {
  if (size == 1) return 0;
  const int phase = wrap(at, 2 * (size - 1));
  return phase < size ? phase : 2 * (size - 1) - phase;
}
)";

// Padding along one axis. Negative pads cut elements off before the rest is padded.
struct PaddedAxis {
  int64_t before = 0;
  int64_t cut = 0;   // At the front.
  int64_t size = 0;  // What remains.
  bool is_padded = false;
};

PaddedAxis PaddingOf(int64_t dim, int64_t before, int64_t after) {
  PaddedAxis axis;
  axis.cut = std::max<int64_t>(0, -before);
  axis.before = std::max<int64_t>(0, before);
  axis.size = dim - axis.cut - std::max<int64_t>(0, -after);
  axis.is_padded = before > 0 || after > 0;
  return axis;
}

// The number of elements that are neighbours on both sides, whatever happens along the other axes.
int64_t PackSize(const Operand& output, const std::vector<int64_t>& strides,
                 const model::Ints& pads) {
  const size_t rank = strides.size();
  if (rank == 0) return 1;
  const int inner = PhysicalAxes(output.type.rank(), output.layout).back();
  if (strides[inner] != 1 || pads[inner] != 0 || pads[inner + rank] != 0) return 1;
  return std::gcd(16 / ElementBytes(output.type.dtype), output.type.dim(inner).number());
}

// The border value in its type. Integers beyond 2^53 are never attributes.
std::string BorderText(model::DType dtype, double value) {
  if (!model::IsFloat(dtype)) return absl::StrCat(static_cast<int64_t>(value), "ll");
  if (dtype == model::DType::kFloat64 && std::isfinite(value)) {
    return absl::StrFormat("(double)%.17g", value);
  }
  return absl::StrCat("(double)", FloatLiteral(value));
}

}  // namespace

std::optional<Program> MakePadProgram(const KernelSpec& spec) {
  if (spec.op != "Pad" || spec.attributes.Has("axes") || !spec.epilogue.empty()) {
    return std::nullopt;
  }
  const model::Ints* pads = spec.attributes.FindInts("pads");
  const Operand& input = spec.inputs[0];
  const Operand& output = spec.outputs[0];
  const model::DType dtype = input.type.dtype;
  if (!ReadsOnlyInputZero(spec) || pads == nullptr || ElementBytes(dtype) == 0) {
    return std::nullopt;
  }
  ProgramWriter writer(spec, "pad");
  const int64_t total = output.type.elements();
  if (total == 0) return std::move(writer).Finish();

  const std::string mode = spec.attributes.GetString("mode", "constant");
  const std::vector<int64_t> dims = input.type.dims();
  const std::vector<int64_t> strides = StridesOf(dims, input.layout);
  const int64_t pack = PackSize(output, strides, *pads);
  const int block = BlockFor(total / pack);
  const std::string index_type = IndexType(std::max(total + block * pack, input.type.elements()));
  std::string body;
  int64_t base = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const PaddedAxis axis = PaddingOf(dims[i], (*pads)[i], (*pads)[i + dims.size()]);
    if (axis.size <= 0 && mode != "constant") return std::nullopt;  // Nothing to repeat.
    base += axis.cut * strides[i];
    const std::string at = CoordinateText(output, static_cast<int>(i), "i", index_type);
    absl::StrAppend(&body, absl::Substitute("  int at$0 = (int)($1) - $2;\n", i, at, axis.before));
    if (axis.is_padded && mode == "constant") {
      absl::StrAppend(
          &body, absl::Substitute("  inside = inside && at$0 >= 0 && at$0 < $1;\n", i, axis.size));
    } else if (axis.is_padded) {
      absl::StrAppend(&body, absl::Substitute("  at$0 = $1(at$0, $2);\n", i, mode, axis.size));
    }
    absl::StrAppend(&body, absl::Substitute("  from += (Index)at$0 * $1;\n", i, strides[i]));
  }
  Definitions definitions;
  definitions.Type("T", StoredType(dtype))
      .Type("Index", index_type)
      .Int("kTotal", total)
      .Int("kPack", pack);
  const std::string border = BorderText(dtype, spec.attributes.GetFloat("constant_value", 0));
  const std::string text = absl::Substitute(
      R"($0$1$2
extern "C" __global__ void pad(const T* in, T* out) {
  const Index i = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (i >= kTotal) return;
  bool inside = true;
  Index from = $3;
$4  store_pack(out + i, inside ? load_pack<kPack>(in + from) : splat_pack<kPack>(convert<T>($5)));
}
)",
      kConvertPrelude, definitions.text(), kFunctions, base, body, border);
  writer.Launch("pad", text, CeilDiv(total / pack, block), block,
                {writer.Operand(0), writer.Output(0)});
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
