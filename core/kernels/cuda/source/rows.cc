#include "core/kernels/cuda/source/rows.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/prelude.h"

namespace quotient::kernels::cuda {
namespace {

constexpr char kRowFunctions[] = R"(
constexpr int kUnroll = kHeld ? kSteps : 1;

struct Row {
  int lane;     // The position of this thread in the group of its row.
  Index begin;  // The position of the row's first element.
  bool inside;  // False if there is no such row. Its threads must reach the barriers all the same.

  __device__ Row() {
    const Index row = (Index)blockIdx.x * (kBlock / kGroup) + threadIdx.x / kGroup;
    lane = threadIdx.x % kGroup;
    begin = row * kLength;
    inside = row < kRows;
  }
  // The position in the row at which the thread's pack of this step begins.
  __device__ int at(int step) const { return (step * kGroup + lane) * kPack; }
  __device__ bool has(int step) const { return inside && at(step) < kLength; }

  // Reads the pack of a step as floats, or fills `values` with `otherwise` if there is none.
  __device__ void read(const T* in, int step, float otherwise, float* values) const {
    if (has(step)) {
      const Pack<T, kPack> pack = load_pack<kPack>(in + begin + at(step));
#pragma unroll
      for (int k = 0; k < kPack; ++k) values[k] = widen(pack.at[k]);
    } else {
#pragma unroll
      for (int k = 0; k < kPack; ++k) values[k] = otherwise;
    }
  }
};
)";

}  // namespace

RowPlan PlanRows(int64_t rows, int64_t length, int64_t element_bytes) {
  constexpr int64_t kMostThreads = 1024;
  constexpr int64_t kHeldElements = 32;    // Per thread.
  constexpr int64_t kWantedElements = 16;  // Per thread, if there are enough rows.
  constexpr int64_t kManyThreads = 1 << 16;
  RowPlan plan{.rows = rows, .length = length, .pack = std::gcd(16 / element_bytes, length)};
  const int64_t packs = std::max<int64_t>(1, length / plan.pack);
  const auto elements = [&] { return CeilDiv(packs, plan.group) * plan.pack; };
  while (plan.group < packs && plan.group < kMostThreads) {
    const bool few = rows * plan.group < kManyThreads && plan.group < 256;
    const int64_t wanted = plan.group < 256 ? kWantedElements : kHeldElements;
    if (elements() <= wanted && !few) break;
    plan.group *= 2;
  }
  plan.block = std::max<int64_t>(plan.group, 128);
  plan.steps = CeilDiv(packs, plan.group);
  plan.held = elements() <= kHeldElements;
  return plan;
}

std::string RowText(const RowPlan& plan, model::DType dtype) {
  const std::string definitions = Definitions()
                                      .Type("T", StoredType(dtype))
                                      .Type("Index", IndexType(plan.length * (plan.rows + 1024)))
                                      .Int("kRows", plan.rows)
                                      .Int("kLength", plan.length)
                                      .Int("kPack", plan.pack)
                                      .Int("kGroup", plan.group)
                                      .Int("kBlock", plan.block)
                                      .Int("kSteps", plan.steps)
                                      .Bool("kHeld", plan.held)
                                      .text();
  return absl::StrCat(definitions, kReducePrelude, kRowFunctions);
}

}  // namespace quotient::kernels::cuda
