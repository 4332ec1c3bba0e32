// Gather, GatherElements and GatherND. What an index out of range would fetch is not read: the
// element is zero.

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

// The data is [outer, kSize, kInner], the output [outer, kCount, kInner].
constexpr char kGatherText[] = R"(
extern "C" __global__ void gather(const T* data, const I* indices, T* out) {
  const Index i = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (i >= kTotal) return;
  const Index row = i / kInner;
  i64 index = (i64)indices[row % kCount];
  if (index < 0) index += kSize;
  Pack<T, kPack> pack = {};
  if (index >= 0 && index < kSize) {
    const Index from = row / kCount * kSize + (Index)index;
    pack = load_pack<kPack>(data + (from * kInner + i % kInner));
  }
  store_pack(out + i, pack);
}
)";

constexpr char kElementsText[] = R"(
extern "C" __global__ void gather(const T* data, const I* indices, T* out) {
  const Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kTotal) return;
  i64 index = (i64)indices[i];
  if (index < 0) index += kSize;
  const bool inside = index >= 0 && index < kSize;
  out[i] = inside ? data[data_offset(i) + (Index)index * kStride] : T();
}
)";

// Tuples of indices name blocks of the data.
constexpr char kTuplesText[] = R"(
extern "C" __global__ void gather(const T* data, const I* indices, T* out) {
  const Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kTotal) return;
  const Index tuple = i / kBlockSize;
  Index block = tuple / kPerBatch;
  bool inside = true;
  for (int k = 0; k < kDepth; ++k) {
    i64 index = (i64)indices[tuple * kDepth + k];
    if (index < 0) index += kSizes[k];
    inside = inside && index >= 0 && index < kSizes[k];
    block = block * kSizes[k] + (Index)index;
  }
  out[i] = inside ? data[block * kBlockSize + i % kBlockSize] : T();
}
)";

int64_t Product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                         dims.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

// What each of the three does in its own way; empty: not this way.
struct GatherKernel {
  std::string text;
  int64_t pack = 1;
};

size_t AxisOf(const KernelSpec& spec) {
  const int64_t axis = spec.attributes.GetInt("axis", 0);
  return static_cast<size_t>(axis < 0 ? axis + spec.inputs[0].type.rank() : axis);
}

GatherKernel Rows(const KernelSpec& spec) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const size_t axis = AxisOf(spec);
  const int64_t inner = Product(dims, axis + 1, dims.size());
  const int64_t pack = std::gcd(16 / ElementBytes(spec.inputs[0].type.dtype), inner);
  Definitions definitions;
  definitions.Int("kInner", inner)
      .Int("kCount", spec.inputs[1].type.elements())
      .Int("kSize", dims[axis]);
  return {absl::StrCat(definitions.text(), kGatherText), pack};
}

GatherKernel Elements(const KernelSpec& spec, absl::string_view index_type) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> counts = spec.inputs[1].type.dims();
  const std::vector<int64_t> strides = StridesOf(dims, Layout::kPlain);
  const size_t axis = AxisOf(spec);
  std::vector<WalkAxis> walk;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != axis && counts[i] > dims[i]) return {};  // an error of the graph
    AppendAxis(walk, {counts[i], i == axis ? 0 : strides[i]});
  }
  Definitions definitions;
  definitions.Int("kSize", dims[axis]).Int("kStride", strides[axis]);
  return {
      absl::StrCat(definitions.text(),
                   absl::Substitute("__device__ inline Index data_offset(Index i) { return $0; }\n",
                                    OffsetText(walk, "i", index_type)),
                   kElementsText)};
}

GatherKernel Tuples(const KernelSpec& spec) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> indices = spec.inputs[1].type.dims();
  const auto batch = static_cast<size_t>(spec.attributes.GetInt("batch_dims", 0));
  const auto depth = static_cast<size_t>(indices.back());
  if (depth == 0) return {};
  const int64_t tuples = Product(indices, 0, indices.size() - 1);
  Definitions definitions;
  definitions.Int("kBlockSize", Product(dims, batch + depth, dims.size()))
      .Int("kPerBatch", tuples / Product(dims, 0, batch))
      .Int("kDepth", static_cast<int64_t>(depth))
      .Ints("kSizes", {dims.begin() + static_cast<std::ptrdiff_t>(batch),
                       dims.begin() + static_cast<std::ptrdiff_t>(batch + depth)});
  return {absl::StrCat(definitions.text(), kTuplesText)};
}

}  // namespace

std::optional<Program> MakeGatherProgram(const KernelSpec& spec) {
  const bool known = spec.op == "Gather" || spec.op == "GatherElements" || spec.op == "GatherND";
  if (!known || spec.inputs.size() != 2 || !spec.epilogue.empty()) return std::nullopt;
  const Operand& data = spec.inputs[0];
  const Operand& indices = spec.inputs[1];
  const Operand& output = spec.outputs[0];
  const int64_t item_bytes = ElementBytes(data.type.dtype);
  const auto is_plain = [](const Operand& operand) {
    return SameMemory(operand.type, operand.layout, Layout::kPlain);
  };
  if (item_bytes == 0 || !model::IsInteger(indices.type.dtype) || !is_plain(data) ||
      !is_plain(output)) {
    return std::nullopt;
  }
  ProgramWriter writer(spec, "gather");
  const int64_t total = output.type.elements();
  if (total == 0) return std::move(writer).Finish();
  const std::string index_type =
      IndexType(std::max({total + (1 << 16), data.type.elements(), indices.type.elements()}));
  const GatherKernel kernel = spec.op == "Gather"           ? Rows(spec)
                              : spec.op == "GatherElements" ? Elements(spec, index_type)
                                                            : Tuples(spec);
  if (kernel.text.empty()) return std::nullopt;
  Definitions definitions;
  definitions.Type("T", absl::StrCat("u", 8 * item_bytes))
      .Type("I", StoredType(indices.type.dtype))
      .Type("Index", index_type)
      .Int("kTotal", total)
      .Int("kPack", kernel.pack);
  const int64_t packs = total / kernel.pack;
  const int block = BlockFor(packs);
  writer.Launch("gather", absl::StrCat(definitions.text(), kernel.text), CeilDiv(packs, block),
                block, {writer.Operand(0), writer.Operand(1), writer.Output(0)});
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
