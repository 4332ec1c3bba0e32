// Softmax and LogSoftmax. Along the fastest axis in memory a group of threads handles a line; along
// others one thread does, next to the threads of neighbouring lines.

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/rows.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

// Reads a row: its elements, or their sums with those of the mask.
constexpr char kReadText[] = R"(
__device__ inline void read(const Row& row, const T* in, const T*, int step, float* values) {
  row.read(in, step, kLowest, values);
}
)";
constexpr char kReadMaskedText[] = R"(
__device__ inline void read(const Row& row, const T* in, const T* mask, int step, float* values) {
  row.read(in, step, kLowest, values);
  if (!row.has(step)) return;
  const Index line = row.begin / kLength;
  mask += mask_row(line);
  if (kMaskIsRow) {
    const Pack<T, kPack> pack = load_pack<kPack>(mask + row.at(step));
#pragma unroll
    for (int k = 0; k < kPack; ++k) values[k] += widen(pack.at[k]);
  } else {
#pragma unroll
    for (int k = 0; k < kPack; ++k) values[k] += widen(*mask);
  }
}
)";

// Without a mask, `in` takes its place. `in` and `out` may be the same, because a thread writes
// only what it alone has read.
constexpr char kRowsText[] = R"(
extern "C" __global__ void softmax(const T* in, const T* mask, T* out) {
  const Row row;
  float x[kHeld ? kSteps * kPack : kPack];
  float largest = kLowest;
#pragma unroll (kUnroll)
  for (int step = 0; step < kSteps; ++step) {
    float* const values = x + (kHeld ? step * kPack : 0);
    read(row, in, mask, step, values);
#pragma unroll
    for (int k = 0; k < kPack; ++k) largest = Largest()(largest, values[k]);
  }
  largest = combine_group(largest, Largest());

  float sum = 0;
#pragma unroll (kUnroll)
  for (int step = 0; step < kSteps; ++step) {
    float* const values = x + (kHeld ? step * kPack : 0);
    if (!kHeld) read(row, in, mask, step, values);
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const float power = expf(values[k] - largest);
      if (!kLog) values[k] = power;
      sum += power;
    }
  }
  sum = combine_group(sum, Add());

  const float factor = 1.0f / sum;
  const float shift = largest + logf(sum);
#pragma unroll (kUnroll)
  for (int step = 0; step < kSteps; ++step) {
    if (!row.has(step)) continue;
    float* const values = x + (kHeld ? step * kPack : 0);
    if (!kHeld) read(row, in, mask, step, values);
    Pack<T, kPack> results;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const float power = kHeld || kLog ? values[k] : expf(values[k] - largest);
      results.at[k] = narrow<T>(kLog ? values[k] - shift : power * factor);
    }
    store_pack(out + row.begin + row.at(step), results);
  }
}
)";

// Lines up to this length stay in registers.
constexpr int64_t kHeldLength = 32;
constexpr char kColumnsText[] = R"(
constexpr int kUnroll = kHeld ? kLength : 4;
__device__ inline float larger(float a, float b) { return a > b || a != a ? a : b; }

extern "C" __global__ void softmax(const T* in, T* out) {
  const Index line = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= kLines) return;
  const Index begin = line / kInner * kInner * kLength + line % kInner;
  float held[kHeld ? kLength : 1];
  const auto value = [&](int k) {
    return kHeld ? held[kHeld ? k : 0] : widen(in[begin + (Index)k * kInner]);
  };
  if (kHeld) {
#pragma unroll (kUnroll)
    for (int k = 0; k < kLength; ++k) held[kHeld ? k : 0] = widen(in[begin + (Index)k * kInner]);
  }
  float largest = kLowest;
#pragma unroll (kUnroll)
  for (int k = 0; k < kLength; ++k) largest = larger(largest, value(k));
  float sum = 0;
#pragma unroll (kUnroll)
  for (int k = 0; k < kLength; ++k) sum += expf(value(k) - largest);
  const float factor = 1.0f / sum;
  const float shift = largest + logf(sum);
#pragma unroll (kUnroll)
  for (int k = 0; k < kLength; ++k) {
    const float x = value(k);
    out[begin + (Index)k * kInner] = narrow<T>(kLog ? x - shift : expf(x - largest) * factor);
  }
}
)";

bool Takes(const KernelSpec& spec) {
  const bool is_masked = spec.op == kMaskedSoftmaxOp;
  if (spec.op != "Softmax" && spec.op != "LogSoftmax" && !is_masked) return false;
  if (!spec.epilogue.empty() || spec.inputs.size() > (is_masked ? 2 : 1)) return false;
  const Operand& input = spec.inputs[0];
  return IsSingleFloat(input.type.dtype) && input.type.rank() > 0 &&
         SameMemory(input.type, input.layout, spec.outputs[0].layout);
}

// The function that reads a row, and the one that finds a row of the mask, if there is one.
std::string ReadText(const KernelSpec& spec) {
  if (spec.inputs.size() < 2) return kReadText;
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> mask = spec.inputs[1].type.dims();
  const std::vector<int64_t> strides =
      BroadcastStrides(mask, StridesOf(mask, Layout::kPlain), dims);
  std::vector<WalkAxis> rows;
  for (size_t i = 0; i + 1 < dims.size(); ++i) AppendAxis(rows, {dims[i], strides[i]});
  const std::string offset = OffsetText(rows, "line", IndexType(spec.inputs[0].type.elements()));
  return absl::StrCat("__device__ inline Index mask_row(Index line) { return ", offset, "; }\n",
                      Definitions().Bool("kMaskIsRow", strides.back() != 0).text(),
                      kReadMaskedText);
}

}  // namespace

std::optional<Program> MakeSoftmaxProgram(const KernelSpec& spec) {
  if (!Takes(spec)) return std::nullopt;
  ProgramWriter writer(spec, "softmax");
  const Operand& input = spec.inputs[0];
  const int rank = input.type.rank();
  const int64_t elements = input.type.elements();
  if (elements == 0) return std::move(writer).Finish();
  int64_t axis = spec.attributes.GetInt("axis", -1);
  if (axis < 0) axis += rank;
  const std::vector<int64_t> dims = input.type.dims();
  const int64_t length = dims[axis];
  int64_t inner = 1;  // Distance of a line's elements.
  for (const int other : PhysicalAxes(rank, input.layout)) {
    inner = other == axis ? 1 : inner * dims[other];
  }
  Definitions definitions;
  definitions.Bool("kLog", spec.op == "LogSoftmax")
      .Float("kLowest", -std::numeric_limits<double>::infinity());
  if (inner == 1) {
    const RowPlan plan = PlanRows(elements / length, length, ElementBytes(input.type.dtype));
    const BufferRef mask = writer.Operand(spec.inputs.size() > 1 ? 1 : 0);
    writer.Launch("softmax",
                  absl::StrCat(definitions.text(), RowText(plan, input.type.dtype), ReadText(spec),
                               kRowsText),
                  plan.grid(), static_cast<int>(plan.block),
                  {writer.Operand(0), mask, writer.Output(0)});
  } else {
    const int64_t lines = elements / length;
    const int block = BlockFor(lines);
    definitions.Type("T", StoredType(input.type.dtype))
        .Type("Index", IndexType(elements + block))
        .Int("kLines", lines)
        .Int("kLength", length)
        .Int("kInner", inner)
        .Bool("kHeld", length <= kHeldLength);
    writer.Launch("softmax", absl::StrCat(definitions.text(), kColumnsText), CeilDiv(lines, block),
                  block, {writer.Operand(0), writer.Output(0)});
  }
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
