// Gather, GatherElements, GatherND and ScatterND. An index out of range neither reads nor writes:
// the element becomes zero, or the update is dropped.

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

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

// Tuples of indices select blocks of the data.
constexpr char kTuplesText[] = R"(
// Continues the row-major number `block` by the axes of the tuple, which makes it the number of the
// block that the tuple selects. Returns false if an index is out of range.
__device__ inline bool find_block(const I* tuple, Index* block) {
  bool inside = true;
  for (int k = 0; k < kDepth; ++k) {
    i64 index = (i64)tuple[k];
    if (index < 0) index += kSizes[k];
    inside = inside && index >= 0 && index < kSizes[k];
    *block = *block * kSizes[k] + (Index)index;
  }
  return inside;
}
)";
constexpr char kGatherTuplesText[] = R"(
extern "C" __global__ void gather(const T* data, const I* indices, T* out) {
  const Index i = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (i >= kTotal) return;
  const Index tuple = i / kBlockSize;
  Index block = tuple / kPerBatch;
  Pack<T, kPack> pack = {};
  if (find_block(indices + tuple * kDepth, &block)) {
    pack = load_pack<kPack>(data + (block * kBlockSize + i % kBlockSize));
  }
  store_pack(out + i, pack);
}
)";

constexpr char kCopyText[] = R"(
extern "C" __global__ void scatter_copy(const T* data, T* out) {
  const Index i = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (i >= kTotal) return;
  const int count = kTotal % kPack == 0 || kTotal - i >= kPack ? kPack : (int)(kTotal - i);
  store_pack(out + i, load_pack<kPack>(data + i, count), count);
}
)";
constexpr char kScatterText[] = R"(
extern "C" __global__ void scatter(const I* indices, const T* updates, T* out) {
  const Index i = ((Index)blockIdx.x * blockDim.x + threadIdx.x) * kPack;
  if (i >= kTotal) return;
  const Index tuple = i / kBlockSize;
  Index block = 0;
  if (!find_block(indices + tuple * kDepth, &block)) return;
  store_pack(out + (block * kBlockSize + i % kBlockSize), load_pack<kPack>(updates + i));
}
)";

int64_t Product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(begin),
                         dims.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

// What differs between the three operators. An empty text means that the spec is not supported.
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
    if (i != axis && counts[i] > dims[i]) return {};  // An error of the graph.
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

// Selects blocks of the data from axis `batch` on. Empty if the tuples are empty.
GatherKernel Tuples(const KernelSpec& spec, size_t batch, absl::string_view kernel_text) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> indices = spec.inputs[1].type.dims();
  const auto depth = static_cast<size_t>(indices.back());
  if (depth == 0) return {};
  const int64_t tuples = Product(indices, 0, indices.size() - 1);
  const int64_t block = Product(dims, batch + depth, dims.size());
  Definitions definitions;
  definitions.Int("kBlockSize", block)
      .Int("kPerBatch", tuples / Product(dims, 0, batch))
      .Int("kDepth", static_cast<int64_t>(depth))
      .Ints("kSizes", {dims.begin() + static_cast<std::ptrdiff_t>(batch),
                       dims.begin() + static_cast<std::ptrdiff_t>(batch + depth)});
  return {absl::StrCat(definitions.text(), kTuplesText, kernel_text),
          std::gcd(16 / ElementBytes(spec.inputs[0].type.dtype), block)};
}

GatherKernel GatherTuples(const KernelSpec& spec) {
  const auto batch = static_cast<size_t>(spec.attributes.GetInt("batch_dims", 0));
  return Tuples(spec, batch, kGatherTuplesText);
}

// Adds the launch of a kernel with one thread per `pack` of `total` elements.
void AddLaunch(const KernelSpec& spec, absl::string_view name, const GatherKernel& kernel,
               int64_t total, absl::string_view index_type, std::vector<BufferRef> buffers,
               ProgramWriter& writer) {
  const int64_t packs = CeilDiv(total, kernel.pack);
  const int block = BlockFor(packs);
  Definitions definitions;
  definitions.Type("T", absl::StrCat("u", 8 * ElementBytes(spec.inputs[0].type.dtype)))
      .Type("I", StoredType(spec.inputs[1].type.dtype))
      .Type("Index", index_type)
      .Int("kTotal", total)
      .Int("kPack", kernel.pack);
  writer.Launch(name, absl::StrCat(definitions.text(), kernel.text), CeilDiv(packs, block), block,
                std::move(buffers));
}

// Whether data and indices have supported types and are plain, as the output must be.
bool TakesOperands(const KernelSpec& spec) {
  return spec.epilogue.empty() && ElementBytes(spec.inputs[0].type.dtype) != 0 &&
         model::IsInteger(spec.inputs[1].type.dtype) && IsPlain(spec.inputs[0]) &&
         IsPlain(spec.inputs[1]) && IsPlain(spec.outputs[0]);
}

// Threads after the end count, too.
std::string IndexTypeOf(const KernelSpec& spec) {
  int64_t largest = spec.outputs[0].type.elements();
  for (const Operand& input : spec.inputs) largest = std::max(largest, input.type.elements());
  return IndexType(largest + (1 << 16));
}

}  // namespace

std::optional<Program> MakeGatherProgram(const KernelSpec& spec) {
  const bool known = spec.op == "Gather" || spec.op == "GatherElements" || spec.op == "GatherND";
  if (!known || spec.inputs.size() != 2 || !TakesOperands(spec)) return std::nullopt;
  ProgramWriter writer(spec, "gather");
  const int64_t total = spec.outputs[0].type.elements();
  if (total == 0) return std::move(writer).Finish();
  const std::string index_type = IndexTypeOf(spec);
  const GatherKernel kernel = spec.op == "Gather"           ? Rows(spec)
                              : spec.op == "GatherElements" ? Elements(spec, index_type)
                                                            : GatherTuples(spec);
  if (kernel.text.empty()) return std::nullopt;
  AddLaunch(spec, "gather", kernel, total, index_type,
            {writer.Operand(0), writer.Operand(1), writer.Output(0)}, writer);
  return std::move(writer).Finish();
}

std::optional<Program> MakeScatterProgram(const KernelSpec& spec) {
  if (spec.op != "ScatterND" || spec.inputs.size() != 3 ||
      spec.attributes.GetString("reduction", "none") != "none" || !TakesOperands(spec) ||
      !IsPlain(spec.inputs[2])) {
    return std::nullopt;
  }
  ProgramWriter writer(spec, "scatter");
  const int64_t total = spec.outputs[0].type.elements();
  if (total == 0) return std::move(writer).Finish();
  const std::string index_type = IndexTypeOf(spec);
  const GatherKernel copy{kCopyText, 16 / ElementBytes(spec.outputs[0].type.dtype)};
  AddLaunch(spec, "scatter_copy", copy, total, index_type, {writer.Operand(0), writer.Output(0)},
            writer);
  const int64_t updates = spec.inputs[2].type.elements();
  if (updates == 0) return std::move(writer).Finish();
  const GatherKernel kernel = Tuples(spec, 0, kScatterText);
  if (kernel.text.empty()) return std::nullopt;
  AddLaunch(spec, "scatter", kernel, updates, index_type,
            {writer.Operand(1), writer.Operand(2), writer.Output(0)}, writer);
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
