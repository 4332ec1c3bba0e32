#include "core/kernels/cuda/source/pointwise.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

constexpr int64_t kPackBytes = 16;

// Elements per thread: as many as the widest tensor of the output's size allows, fewer if there
// would otherwise be few threads.
int64_t PackSize(const Pointwise& pointwise, int64_t total) {
  int64_t widest = ElementBytes(pointwise.output.type.dtype);
  for (const PointwiseInput& input : pointwise.inputs) {
    if (input.operand.type.elements() == total) {
      widest = std::max(widest, ElementBytes(input.operand.type.dtype));
    }
  }
  constexpr int64_t kFewThreads = 1 << 14;
  int64_t pack = kPackBytes / widest;
  while (pack > 1 && total / pack < kFewThreads) pack /= 2;
  return pack;
}

}  // namespace

std::vector<WalkAxis> BroadcastWalk(const Operand& operand, const Operand& output) {
  std::vector<WalkAxis> axes;
  if (operand.type.elements() == 1) return axes;
  const std::vector<int64_t> dims = operand.type.dims();
  const std::vector<int64_t> full = output.type.dims();
  const std::vector<int64_t> strides =
      BroadcastStrides(dims, StridesOf(dims, operand.layout), full);
  for (int axis : PhysicalAxes(output.type.rank(), output.layout)) {
    AppendAxis(axes, {full[axis], strides[axis]});
  }
  return axes;
}

std::string ReadPackText(const Operand& operand, const Operand& output, size_t number, int64_t pack,
                         absl::string_view index_type) {
  const std::vector<WalkAxis> axes = BroadcastWalk(operand, output);
  const bool dense = axes.size() == 1 && axes[0].stride == 1;
  const bool whole_packs = !axes.empty() && axes.back().count % pack == 0;
  if (dense || (whole_packs && axes.back().stride == 1)) {
    return absl::Substitute("  const Pack<T$0, kPack> x$0 = load_pack<kPack>(p$0 + ($1), count);\n",
                            number, OffsetText(axes, "first", index_type));
  }
  if (axes.empty() || (whole_packs && axes.back().stride == 0)) {
    return absl::Substitute("  const Pack<T$0, kPack> x$0 = splat_pack<kPack>(p$0[$1]);\n", number,
                            OffsetText(axes, "first", index_type));
  }
  return absl::Substitute(R"(  Pack<T$0, kPack> x$0;
#pragma unroll
  for (int k = 0; k < kPack; ++k) {
    const Index i = first + k;
    if (k < count) x$0.at[k] = p$0[$1];
  }
)",
                          number, OffsetText(axes, "i", index_type));
}

void AddPointwise(const Pointwise& pointwise, ProgramWriter& writer) {
  const int64_t total = pointwise.output.type.elements();
  if (total == 0) return;
  const int64_t pack = PackSize(pointwise, total);
  const int64_t packs = CeilDiv(total, pack);
  const int block = BlockFor(packs);
  // Threads after the last pack count, too.
  const std::string index = IndexType(total + 2 * block * pack);

  Definitions definitions;
  std::string parameters, reads, arguments, values;
  std::vector<BufferRef> buffers;
  for (size_t i = 0; i < pointwise.inputs.size(); ++i) {
    const PointwiseInput& input = pointwise.inputs[i];
    const char* const comma = i == 0 ? "" : ", ";
    definitions.Type(absl::StrCat("T", i), StoredType(input.operand.type.dtype));
    absl::StrAppend(&parameters, "const T", i, "* p", i, ", ");
    absl::StrAppend(&reads, ReadPackText(input.operand, pointwise.output, i, pack, index));
    absl::StrAppend(&arguments, comma, ComputedType(input.operand.type.dtype), " v", i);
    absl::StrAppend(&values, comma, "widen(x", i, ".at[k])");
    buffers.push_back(input.buffer);
  }
  buffers.push_back(pointwise.output_buffer);
  definitions.Type("R", StoredType(pointwise.output.type.dtype))
      .Type("Index", index)
      .Int("kPack", pack)
      .Int("kTotal", total);

  const std::string text = absl::Substitute(
      R"($0$1
__device__ inline $2 compute($3) {
$4}

extern "C" __global__ void $5($6R* out) {
  const Index first = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (first >= kTotal) return;
  const int count = kTotal % kPack == 0 || kTotal - first >= kPack ? kPack : (int)(kTotal - first);
$7  Pack<R, kPack> results;
#pragma unroll
  for (int k = 0; k < kPack; ++k) {
    if (k < count) results.at[k] = narrow<R>(compute($8));
  }
  store_pack(out + first, results, count);
}
)",
      pointwise.functions, definitions.text(), pointwise.result_type, arguments, pointwise.body,
      pointwise.kernel, parameters, reads, values);
  writer.Launch(pointwise.kernel, text, CeilDiv(packs, block), block, std::move(buffers));
}

}  // namespace quotient::kernels::cuda
