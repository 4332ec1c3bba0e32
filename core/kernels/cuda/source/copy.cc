// Kernels that only move elements.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/moves.h"

namespace quotient::kernels::cuda {
namespace {

// Elements are moved as unsigned integers of their size.
std::string ItemType(int64_t bytes) { return absl::StrCat("u", 8 * bytes); }

// The largest number of elements, up to 16 bytes, that can be moved at once: everything except the
// innermost run must be a multiple of it, on both sides.
int64_t PackSize(const Move& move, int64_t item_bytes) {
  const CopyAxis& inner = move.axes.back();
  if (inner.to != 1 || inner.from != 1) return 1;
  int64_t common = std::gcd(16 / item_bytes, inner.count);
  common = std::gcd(std::gcd(common, move.from_offset), move.to_offset);
  for (size_t i = 0; i + 1 < move.axes.size(); ++i) {
    common = std::gcd(std::gcd(common, move.axes[i].from), move.axes[i].to);
  }
  return common;
}

// The walk over one side of a box, in packs.
std::vector<WalkAxis> Walk(const Move& move, int64_t pack, int64_t CopyAxis::*side) {
  std::vector<WalkAxis> axes;
  for (const CopyAxis& axis : move.axes) {
    const bool inner = &axis == &move.axes.back();
    AppendAxis(axes, {inner ? axis.count / pack : axis.count, axis.*side * (inner ? pack : 1)});
  }
  return axes;
}

// The axis of a transposed box that is contiguous on the reading side, if tiles in shared memory
// pay: the innermost axis must be contiguous on the writing side. Returns nullopt if they do not.
std::optional<size_t> ReadingRun(const Move& move) {
  constexpr int64_t kLeast = 16;
  const CopyAxis& inner = move.axes.back();
  if (inner.to != 1 || inner.from == 1 || inner.count < kLeast) return std::nullopt;
  for (size_t i = 0; i + 1 < move.axes.size(); ++i) {
    if (move.axes[i].from == 1 && move.axes[i].count >= kLeast) return i;
  }
  return std::nullopt;
}

// Small elements are moved four bytes at a time if everything is a multiple of that. The threads of
// a warp then read and write whole lines without bank conflicts. `move` has the other axes.
int64_t TransposePack(const CopyAxis& columns, const CopyAxis& rows, const Move& move,
                      int64_t item_bytes) {
  int64_t common = std::max<int64_t>(1, 4 / item_bytes);
  for (const int64_t number :
       {columns.count, columns.from, rows.count, rows.to, move.from_offset, move.to_offset}) {
    common = std::gcd(common, number);
  }
  for (const CopyAxis& axis : move.axes) common = std::gcd(std::gcd(common, axis.from), axis.to);
  return common;
}

constexpr int kTransposeBlock = 256;

// Tiles go through shared memory, so that both sides are read and written in runs.
constexpr char kTransposeText[] = R"(
constexpr Index kColumnTiles = (kColumns + kTile - 1) / kTile;
constexpr Index kRowTiles = (kRows + kTile - 1) / kTile;
constexpr int kRun = kTile / kPack;  // Threads that share a row of the tile.
constexpr int kStep = kBlock / kRun;

// The elements of a column are adjacent in `from`, those of a row are adjacent in `to`.
extern "C" __global__ void transpose(const T* from, T* to) {
  __shared__ T tile[kTile][kTile + 1];
  const int x = threadIdx.x % kRun * kPack;
  const int y = threadIdx.x / kRun;
  const Index column = blockIdx.x % kColumnTiles * kTile;
  const Index row = blockIdx.x / kColumnTiles % kRowTiles * kTile;
  const Index outer = blockIdx.x / kColumnTiles / kRowTiles;
  from += from_offset(outer);
  to += to_offset(outer);
  for (int k = y; k < kTile; k += kStep) {
    if (column + k >= kColumns || row + x >= kRows) continue;
    const Pack<T, kPack> pack = load_pack<kPack>(from + ((column + k) * kFromStride + row + x));
#pragma unroll
    for (int j = 0; j < kPack; ++j) tile[k][x + j] = pack.at[j];
  }
  __syncthreads();
  for (int k = y; k < kTile; k += kStep) {
    if (row + k >= kRows || column + x >= kColumns) continue;
    Pack<T, kPack> pack;
#pragma unroll
    for (int j = 0; j < kPack; ++j) pack.at[j] = tile[x + j][k];
    store_pack(to + ((row + k) * kToStride + column + x), pack);
  }
}
)";

std::string OffsetFunction(absl::string_view name, const std::vector<WalkAxis>& axes,
                           absl::string_view index_type, int64_t base) {
  return absl::Substitute("__device__ inline Index $0(Index i) { return $1; }\n", name,
                          OffsetText(axes, "i", index_type, base));
}

void AddTranspose(Move move, size_t run, int64_t item_bytes, const std::string& index_type,
                  const std::vector<BufferRef>& buffers, ProgramWriter& writer) {
  const CopyAxis columns = move.axes.back(), rows = move.axes[run];
  move.axes.pop_back();
  move.axes.erase(move.axes.begin() + static_cast<std::ptrdiff_t>(run));
  const int64_t tile = item_bytes >= 4 ? 32 : 64;
  std::string text = Definitions()
                         .Type("T", ItemType(item_bytes))
                         .Type("Index", index_type)
                         .Int("kBlock", kTransposeBlock)
                         .Int("kTile", tile)
                         .Int("kPack", TransposePack(columns, rows, move, item_bytes))
                         .Int("kColumns", columns.count)
                         .Int("kRows", rows.count)
                         .Int("kFromStride", columns.from)
                         .Int("kToStride", rows.to)
                         .text();
  std::vector<WalkAxis> from, to;
  for (const CopyAxis& axis : move.axes) {
    from.push_back({axis.count, axis.from});
    to.push_back({axis.count, axis.to});
  }
  absl::StrAppend(&text, OffsetFunction("from_offset", from, index_type, move.from_offset),
                  OffsetFunction("to_offset", to, index_type, move.to_offset), kTransposeText);
  const int64_t tiles = CeilDiv(columns.count, tile) * CeilDiv(rows.count, tile);
  writer.Launch("transpose", text, tiles * move.elements(), kTransposeBlock, buffers);
}

// Copies all boxes in one kernel; each has a range of blocks.
void AddCopy(const std::vector<Move>& moves, int64_t item_bytes, const std::string& index_type,
             const std::vector<BufferRef>& operands, const std::vector<BufferRef>& outputs,
             ProgramWriter& writer) {
  int64_t packs = 0;
  for (const Move& move : moves) packs += move.elements() / PackSize(move, item_bytes);
  const int block = BlockFor(packs);
  std::string functions, parameters, body;
  std::vector<BufferRef> buffers;
  const auto add_parameters = [&](const std::vector<BufferRef>& refs, absl::string_view type,
                                  absl::string_view name) {
    for (size_t i = 0; i < refs.size(); ++i) {
      absl::StrAppend(&parameters, buffers.empty() ? "" : ", ", type, name, i);
      buffers.push_back(refs[i]);
    }
  };
  add_parameters(operands, "const T* ", "from");
  add_parameters(outputs, "T* ", "to");
  int64_t blocks = 0;
  for (size_t i = 0; i < moves.size(); ++i) {
    const Move& move = moves[i];
    const int64_t pack = PackSize(move, item_bytes);
    const int64_t count = move.elements() / pack;
    const int64_t begin = blocks;
    blocks += CeilDiv(count, block);
    absl::StrAppend(
        &functions,
        absl::Substitute(
            R"(__device__ inline void move$0(const T* from, T* to, Index i) {
  if (i >= $1) return;
  store_pack(to + ($3), load_pack<$4>(from + ($2)));
}
)",
            i, count,
            OffsetText(Walk(move, pack, &CopyAxis::from), "i", index_type, move.from_offset),
            OffsetText(Walk(move, pack, &CopyAxis::to), "i", index_type, move.to_offset), pack));
    absl::StrAppend(&body,
                    absl::Substitute("  if (block < $0) return move$1(from$2, to$3, (block - $4) * "
                                     "blockDim.x + threadIdx.x);\n",
                                     blocks, i, move.operand, move.output, begin));
  }
  const std::string text =
      absl::StrCat(Definitions().Type("T", ItemType(item_bytes)).Type("Index", index_type).text(),
                   functions, "\nextern \"C\" __global__ void copy(", parameters,
                   ") {\n  const Index block = blockIdx.x;\n", body, "}\n");
  writer.Launch("copy", text, blocks, block, std::move(buffers));
}

}  // namespace

std::optional<Program> MakeCopyProgram(const KernelSpec& spec) {
  if (spec.inputs.empty() || spec.outputs.empty() || !spec.epilogue.empty()) return std::nullopt;
  if (spec.outputs.size() > 1 && spec.op != "Split") return std::nullopt;
  const model::DType dtype = spec.outputs[0].type.dtype;
  const int64_t item_bytes = ElementBytes(dtype);
  if (item_bytes == 0 || spec.inputs[0].type.dtype != dtype) return std::nullopt;
  std::optional<std::vector<Move>> moves = MovesOf(spec);
  if (!moves) return std::nullopt;
  int64_t largest = 0;
  std::vector<Move> filled;
  for (Move& move : *moves) {
    largest = std::max({largest, spec.inputs[move.operand].type.elements(),
                        spec.outputs[move.output].type.elements()});
    if (move.elements() == 0) continue;
    move.axes = Simplify(std::move(move.axes));
    filled.push_back(std::move(move));
  }
  // Threads after the end count, too.
  const std::string index_type = IndexType(largest + (1 << 16));
  const std::optional<size_t> run =
      filled.size() == 1 && moves->size() == 1 ? ReadingRun(filled[0]) : std::nullopt;
  ProgramWriter writer(spec, run ? "transpose" : "copy");
  if (filled.empty()) return std::move(writer).Finish();
  std::vector<BufferRef> operands, outputs;
  const size_t num_operands = spec.op == "Concat" ? spec.inputs.size() : 1;
  for (size_t i = 0; i < num_operands; ++i) operands.push_back(writer.Operand(static_cast<int>(i)));
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    outputs.push_back(writer.Output(static_cast<int>(i)));
  }
  if (run) {
    AddTranspose(filled[0], *run, item_bytes, index_type, {operands[0], outputs[0]}, writer);
  } else {
    AddCopy(filled, item_bytes, index_type, operands, outputs, writer);
  }
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
