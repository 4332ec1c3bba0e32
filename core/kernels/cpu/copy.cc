// Kernels that only move elements, as lists of strided copies.

#include <cstring>
#include <optional>
#include <utility>

#include "core/base/float16.h"
#include "core/kernels/cpu/kernels.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/cpu/strided.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"
#include "core/kernels/view.h"

namespace quotient::kernels::cpu {
namespace {

// One box moved from an operand into an output; offsets in bytes.
struct Move {
  size_t operand = 0;
  size_t output = 0;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  StridedCopy copy;
};

class CopyKernel : public PlainKernel {
 public:
  // `fill`: written over the whole of output 0 first.
  CopyKernel(const KernelSpec& spec, std::vector<Move> moves, std::optional<float> fill = {})
      : PlainKernel(spec), moves_(std::move(moves)), fill_(fill) {}

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    if (fill_) Fill(static_cast<float*>(buffers.outputs[0]));
    for (const Move& move : moves_) {
      if (buffers.outputs[move.output] == nullptr) continue;
      const auto* from = static_cast<const std::byte*>(Data(buffers, move.operand));
      auto* to = static_cast<std::byte*>(buffers.outputs[move.output]);
      move.copy.Run(from + move.from_offset, to + move.to_offset, spec_.threads);
    }
    return absl::OkStatus();
  }

 private:
  void Fill(float* out) const {
    ParallelRanges(spec_.outputs[0].type.elements(), 1 << 14, spec_.threads,
                   [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, *fill_); });
  }

  const std::vector<Move> moves_;
  const std::optional<float> fill_;
};

using Moves = std::optional<std::vector<Move>>;

std::vector<int64_t> Strides(const Operand& operand) {
  return StridesOf(operand.type.dims(), operand.layout);
}

int64_t AxisOf(const KernelSpec& spec) {
  const int64_t axis = spec.attributes.GetInt("axis", 0);
  return axis < 0 ? axis + spec.inputs[0].type.rank() : axis;
}

// A copy of a whole box: `count` items along each axis.
Move Box(const std::vector<int64_t>& count, const std::vector<int64_t>& from,
         const std::vector<int64_t>& to, int64_t item_bytes) {
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < count.size(); ++i) axes.push_back({count[i], from[i], to[i]});
  return Move{.copy = StridedCopy(std::move(axes), item_bytes)};
}

int64_t ItemBytes(const KernelSpec& spec) { return StorageBytes(spec.outputs[0].type.dtype); }

std::vector<Move> One(Move move) {
  std::vector<Move> moves;
  moves.push_back(std::move(move));
  return moves;
}

Moves SameIndexMoves(const KernelSpec& spec) {
  return One(Box(spec.outputs[0].type.dims(), Strides(spec.inputs[0]), Strides(spec.outputs[0]),
                 ItemBytes(spec)));
}

// Reshape and the like between plain tensors.
Moves FlatMoves(const KernelSpec& spec) {
  const int64_t elements = spec.outputs[0].type.elements();
  return One(Box({elements}, {1}, {1}, ItemBytes(spec)));
}

Moves TransposeMoves(const KernelSpec& spec) {
  const int64_t rank = spec.inputs[0].type.rank();
  model::Ints reversed;
  for (int64_t i = rank; i-- > 0;) reversed.push_back(i);
  const model::Ints perm = spec.attributes.GetInts("perm", reversed);
  const std::vector<int64_t> strides = Strides(spec.inputs[0]);
  std::vector<int64_t> from;
  for (int64_t axis : perm) from.push_back(strides[axis]);
  return One(Box(spec.outputs[0].type.dims(), from, Strides(spec.outputs[0]), ItemBytes(spec)));
}

Moves RegionMoves(const KernelSpec& spec) {
  const std::vector<int64_t> strides = Strides(spec.inputs[0]);
  std::vector<Move> moves;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const Operand& output = spec.outputs[i];
    const std::optional<Region> region = RegionOf(spec, i);
    if (!region) return std::nullopt;
    std::vector<int64_t> from(strides.size());
    int64_t offset = 0;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      from[axis] = strides[axis] * region->steps[axis];
      offset += strides[axis] * region->starts[axis];
    }
    Move move = Box(output.type.dims(), from, Strides(output), ItemBytes(spec));
    move.output = i;
    move.from_offset = offset * ItemBytes(spec);
    moves.push_back(std::move(move));
  }
  return moves;
}

Moves ConcatMoves(const KernelSpec& spec) {
  const std::vector<int64_t> to = Strides(spec.outputs[0]);
  const int64_t axis = AxisOf(spec);
  std::vector<Move> moves;
  int64_t start = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const Operand& input = spec.inputs[i];
    Move move = Box(input.type.dims(), Strides(input), to, ItemBytes(spec));
    move.operand = i;
    move.to_offset = start * to[axis] * ItemBytes(spec);
    start += input.type.dim(static_cast<int>(axis)).number();
    moves.push_back(std::move(move));
  }
  return moves;
}

Moves ExpandMoves(const KernelSpec& spec) {
  const std::vector<int64_t> dims = spec.outputs[0].type.dims();
  const std::vector<int64_t> from =
      BroadcastStrides(spec.inputs[0].type.dims(), Strides(spec.inputs[0]), dims);
  return One(Box(dims, from, Strides(spec.outputs[0]), ItemBytes(spec)));
}

Moves TileMoves(const KernelSpec& spec) {
  const model::Ints* repeats = spec.attributes.FindInts("repeats");
  if (repeats == nullptr) return std::nullopt;
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> from = Strides(spec.inputs[0]);
  const std::vector<int64_t> to = Strides(spec.outputs[0]);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    axes.push_back({(*repeats)[i], 0, dims[i] * to[i]});
    axes.push_back({dims[i], from[i], to[i]});
  }
  return One(Move{.copy = StridedCopy(std::move(axes), ItemBytes(spec))});
}

// The part of the input that is left inside after (possibly negative) padding.
Moves PadMoves(const KernelSpec& spec) {
  const model::Ints* pads = spec.attributes.FindInts("pads");
  if (pads == nullptr || spec.attributes.Has("axes")) return std::nullopt;
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> from = Strides(spec.inputs[0]);
  const std::vector<int64_t> to = Strides(spec.outputs[0]);
  std::vector<int64_t> count(dims.size());
  int64_t from_offset = 0, to_offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t before = (*pads)[i], after = (*pads)[i + dims.size()];
    const int64_t skip = std::max<int64_t>(0, -before);
    count[i] = std::max<int64_t>(0, dims[i] - skip - std::max<int64_t>(0, -after));
    from_offset += skip * from[i];
    to_offset += std::max<int64_t>(0, before) * to[i];
  }
  Move move = Box(count, from, to, ItemBytes(spec));
  move.from_offset = from_offset * ItemBytes(spec);
  move.to_offset = to_offset * ItemBytes(spec);
  return One(std::move(move));
}

bool ReadsOnlyInputZero(const KernelSpec& spec) {
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].type.dtype != model::DType::kUndefined) return false;
  }
  return true;
}

bool PlainInAndOut(const KernelSpec& spec) {
  return SameMemory(spec.inputs[0].type, spec.inputs[0].layout, Layout::kPlain) &&
         SameMemory(spec.outputs[0].type, spec.outputs[0].layout, Layout::kPlain);
}

Moves MovesOf(const KernelSpec& spec) {
  const absl::string_view op = spec.op;
  if (op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze") {
    // Their other input, a shape that is not constant, says nothing that the types do not.
    return PlainInAndOut(spec) ? FlatMoves(spec) : std::nullopt;
  }
  if (op == "Expand") return ExpandMoves(spec);
  if (op == "Concat") return ConcatMoves(spec);
  if (!ReadsOnlyInputZero(spec)) return std::nullopt;
  if (op == kReorderOp || op == "Identity" || op == "Dropout") return SameIndexMoves(spec);
  if (op == "Transpose") return TransposeMoves(spec);
  if (op == "Slice" || op == "Split") return RegionMoves(spec);
  if (op == "Tile") return TileMoves(spec);
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Kernel> MakeCopyKernel(const KernelSpec& spec) {
  if (spec.inputs.empty() || spec.outputs.empty() || !spec.epilogue.empty()) return nullptr;
  if (spec.outputs.size() > 1 && spec.op != "Split") return nullptr;
  if (ItemBytes(spec) == 0) return nullptr;
  if (spec.op == "Pad") {
    if (!ReadsOnlyInputZero(spec) || !StoredAsFloat(spec.outputs[0].type.dtype) ||
        spec.attributes.GetString("mode", "constant") != "constant") {
      return nullptr;
    }
    Moves moves = PadMoves(spec);
    if (!moves) return nullptr;
    const auto value = static_cast<float>(spec.attributes.GetFloat("constant_value", 0));
    return std::make_unique<CopyKernel>(spec, std::move(*moves), value);
  }
  Moves moves = MovesOf(spec);
  if (!moves) return nullptr;
  return std::make_unique<CopyKernel>(spec, std::move(*moves));
}

}  // namespace quotient::kernels::cpu
