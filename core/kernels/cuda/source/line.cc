// CumSum, with one thread per line if there are many lines and one block otherwise; and Trilu.

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"
#include "core/kernels/moves.h"

namespace quotient::kernels::cuda {
namespace {

constexpr char kCumSumText[] = R"(
extern "C" __global__ void cumsum(const T* in, T* out) {
  const Index line = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= kLines) return;
  const Index begin = line / kInner * kInner * kLength + line % kInner;
  W sum = 0;
  for (int k = 0; k < kLength; ++k) {
    const Index at = begin + (Index)(kReverse ? kLength - 1 - k : k) * kInner;
    const W next = sum + (W)widen(in[at]);
    out[at] = narrow<T>((C)(kExclusive ? sum : next));
    sum = next;
  }
}
)";

constexpr char kScanText[] = R"(
// One block scans a line, kBlock elements at a time. `carry` is the sum of all elements before them.
extern "C" __global__ void cumsum(const T* in, T* out) {
  __shared__ W sums[kBlock];
  const Index line = blockIdx.x;
  const Index begin = line / kInner * kInner * kLength + line % kInner;
  const int lane = threadIdx.x;
  W carry = 0;
  for (int first = 0; first < kLength; first += kBlock) {
    const int k = first + lane;
    const bool inside = k < kLength;
    const Index at = begin + (Index)(kReverse ? kLength - 1 - k : k) * kInner;
    W sum = inside ? (W)widen(in[at]) : (W)0;
    sums[lane] = sum;
    __syncthreads();
    for (int distance = 1; distance < kBlock; distance *= 2) {
      const W before = lane >= distance ? sums[lane - distance] : (W)0;
      __syncthreads();
      sum += before;
      sums[lane] = sum;
      __syncthreads();
    }
    if (kExclusive) sum = lane == 0 ? (W)0 : sums[lane - 1];
    if (inside) out[at] = narrow<T>((C)(carry + sum));
    carry += sums[kBlock - 1];
    __syncthreads();
  }
}
)";

constexpr char kTriluText[] = R"(
extern "C" __global__ void trilu(const T* in, T* out) {
  const Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kTotal) return;
  const i64 above = (i64)(i % kColumns) - (i64)(i / kColumns % kRows);
  out[i] = (kUpper ? above >= kDiagonal : above <= kDiagonal) ? in[i] : T();
}
)";

// Threads of a block for each line; 0 if one thread handles a line.
int ScanBlock(int64_t lines, int64_t length) {
  constexpr int64_t kManyLines = 1 << 14, kShortLine = 32;
  if (lines >= kManyLines || length <= kShortLine) return 0;
  return static_cast<int>(std::min<uint64_t>(256, std::bit_ceil(static_cast<uint64_t>(length))));
}

Program CumSum(const KernelSpec& spec) {
  const Operand& input = spec.inputs[0];
  const model::DType dtype = input.type.dtype;
  const std::vector<int64_t> dims = input.type.dims();
  ProgramWriter writer(spec, "cumsum");
  const int64_t total = input.type.elements();
  if (total == 0) return std::move(writer).Finish();
  int64_t axis = spec.attributes.GetInt("axis", 0);
  if (axis < 0) axis += input.type.rank();
  const int64_t inner =
      std::accumulate(dims.begin() + axis + 1, dims.end(), int64_t{1}, std::multiplies<>());
  const int64_t lines = total / dims[axis];
  const int scan_block = ScanBlock(lines, dims[axis]);
  const int block = scan_block != 0 ? scan_block : BlockFor(lines);
  Definitions definitions;
  definitions.Type("T", StoredType(dtype))
      .Type("C", ComputedType(dtype))
      .Type("W", model::IsFloat(dtype) ? ComputedType(dtype) : "u64")  // Integers wrap.
      .Type("Index", IndexType(total + block))
      .Int("kBlock", block)
      .Int("kLines", lines)
      .Int("kLength", dims[axis])
      .Int("kInner", inner)
      .Bool("kReverse", spec.attributes.GetInt("reverse", 0) != 0)
      .Bool("kExclusive", spec.attributes.GetInt("exclusive", 0) != 0);
  writer.Launch("cumsum",
                absl::StrCat(definitions.text(), scan_block != 0 ? kScanText : kCumSumText),
                scan_block != 0 ? lines : CeilDiv(lines, block), block,
                {writer.Operand(0), writer.Output(0)});
  return std::move(writer).Finish();
}

Program Trilu(const KernelSpec& spec) {
  const Operand& input = spec.inputs[0];
  const std::vector<int64_t> dims = input.type.dims();
  ProgramWriter writer(spec, "trilu");
  const int64_t total = input.type.elements();
  if (total == 0) return std::move(writer).Finish();
  const int block = BlockFor(total);
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  Definitions definitions;
  definitions.Type("T", absl::StrCat("u", 8 * ElementBytes(input.type.dtype)))
      .Type("Index", IndexType(total + block))
      .Int("kTotal", total)
      .Int("kRows", rows)
      .Int("kColumns", columns)
      .Bool("kUpper", spec.attributes.GetInt("upper", 1) != 0)
      // All diagonals outside the matrix are equivalent.
      .Int("kDiagonal", std::clamp(spec.attributes.GetInt("k", 0), -rows - 1, columns + 1));
  writer.Launch("trilu", absl::StrCat(definitions.text(), kTriluText), CeilDiv(total, block), block,
                {writer.Operand(0), writer.Output(0)});
  return std::move(writer).Finish();
}

}  // namespace

std::optional<Program> MakeLineProgram(const KernelSpec& spec) {
  if ((spec.op != "CumSum" && spec.op != "Trilu") || !spec.epilogue.empty()) return std::nullopt;
  const Operand& input = spec.inputs[0];
  if (!ReadsOnlyInputZero(spec) || ElementBytes(input.type.dtype) == 0 || !IsPlain(input) ||
      !IsPlain(spec.outputs[0])) {
    return std::nullopt;
  }
  if (spec.op == "Trilu") return Trilu(spec);
  if (input.type.dtype == model::DType::kBool) return std::nullopt;
  return CumSum(spec);
}

}  // namespace quotient::kernels::cuda
