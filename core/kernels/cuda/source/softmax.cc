// Softmax and LogSoftmax: along the axis that is fastest in memory a group of threads takes a line,
// along others one thread, next to threads with neighbouring lines.

#include <limits>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/rows.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

constexpr char kRowsText[] = R"(
extern "C" __global__ void softmax(const T* in, T* out) {
  const Row row;
  float x[kHeld ? kSteps * kPack : kPack];
  float largest = kLowest;
#pragma unroll (kUnroll)
  for (int step = 0; step < kSteps; ++step) {
    float* const values = x + (kHeld ? step * kPack : 0);
    row.read(in, step, kLowest, values);
#pragma unroll
    for (int k = 0; k < kPack; ++k) largest = Largest()(largest, values[k]);
  }
  largest = combine_group(largest, Largest());

  float sum = 0;
#pragma unroll (kUnroll)
  for (int step = 0; step < kSteps; ++step) {
    float* const values = x + (kHeld ? step * kPack : 0);
    if (!kHeld) row.read(in, step, kLowest, values);
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
    if (!kHeld) row.read(in, step, kLowest, values);
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

// Lines that are no longer than this stay in registers.
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

}  // namespace

std::optional<Program> MakeSoftmaxProgram(const KernelSpec& spec) {
  const bool is_log = spec.op == "LogSoftmax";
  if ((spec.op != "Softmax" && !is_log) || !spec.epilogue.empty() || spec.inputs.size() != 1) {
    return std::nullopt;
  }
  const Operand& input = spec.inputs[0];
  const int rank = input.type.rank();
  if (!IsSingleFloat(input.type.dtype) || rank == 0 ||
      !SameMemory(input.type, input.layout, spec.outputs[0].layout)) {
    return std::nullopt;
  }
  ProgramWriter writer(spec, "softmax");
  const int64_t elements = input.type.elements();
  if (elements == 0) return std::move(writer).Finish();
  int64_t axis = spec.attributes.GetInt("axis", -1);
  if (axis < 0) axis += rank;
  const std::vector<int64_t> dims = input.type.dims();
  const int64_t length = dims[axis];
  int64_t inner = 1;  // distance of a line's elements
  for (const int other : PhysicalAxes(rank, input.layout)) {
    inner = other == axis ? 1 : inner * dims[other];
  }
  Definitions definitions;
  definitions.Bool("kLog", is_log).Float("kLowest", -std::numeric_limits<double>::infinity());
  const std::vector<BufferRef> buffers = {writer.Operand(0), writer.Output(0)};
  if (inner == 1) {
    const RowPlan plan = PlanRows(elements / length, length, ElementBytes(input.type.dtype));
    writer.Launch("softmax",
                  absl::StrCat(definitions.text(), RowText(plan, input.type.dtype), kRowsText),
                  plan.grid(), static_cast<int>(plan.block), buffers);
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
                  block, buffers);
  }
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
