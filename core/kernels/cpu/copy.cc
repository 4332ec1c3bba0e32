// Kernels that only move elements, as lists of strided copies.

#include <cstring>
#include <optional>
#include <utility>

#include "core/base/float16.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/cpu/strided.h"
#include "core/kernels/layout.h"
#include "core/kernels/moves.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

int64_t ItemBytes(const KernelSpec& spec) { return StorageBytes(spec.outputs[0].type.dtype); }

// A move with offsets in bytes.
struct Copy {
  int operand;
  int output;
  int64_t from_offset;
  int64_t to_offset;
  StridedCopy box;
};

class CopyKernel : public PlainKernel {
 public:
  // `fill`, if given, is first written over all of output 0.
  CopyKernel(const KernelSpec& spec, std::vector<Move> moves, std::optional<float> fill = {})
      : PlainKernel(spec), fill_(fill) {
    const int64_t item_bytes = ItemBytes(spec);
    for (Move& move : moves) {
      copies_.push_back({move.operand, move.output, move.from_offset * item_bytes,
                         move.to_offset * item_bytes,
                         StridedCopy(std::move(move.axes), item_bytes)});
    }
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    if (fill_) Fill(static_cast<float*>(buffers.outputs[0]));
    for (const Copy& copy : copies_) {
      if (buffers.outputs[copy.output] == nullptr) continue;
      const auto* from = static_cast<const std::byte*>(Data(buffers, copy.operand));
      auto* to = static_cast<std::byte*>(buffers.outputs[copy.output]);
      copy.box.Run(from + copy.from_offset, to + copy.to_offset, spec_.threads);
    }
    return absl::OkStatus();
  }

 private:
  void Fill(float* out) const {
    ParallelRanges(spec_.outputs[0].type.elements(), 1 << 14, spec_.threads,
                   [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, *fill_); });
  }

  std::vector<Copy> copies_;
  const std::optional<float> fill_;
};

// The part of the input that remains after padding, which may be negative.
std::optional<Move> PadMove(const KernelSpec& spec) {
  const model::Ints* pads = spec.attributes.FindInts("pads");
  if (pads == nullptr || spec.attributes.Has("axes")) return std::nullopt;
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> from = StridesOf(dims, spec.inputs[0].layout);
  const std::vector<int64_t> to = StridesOf(spec.outputs[0].type.dims(), spec.outputs[0].layout);
  Move move;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t before = (*pads)[i], after = (*pads)[i + dims.size()];
    const int64_t skip = std::max<int64_t>(0, -before);
    const int64_t count = std::max<int64_t>(0, dims[i] - skip - std::max<int64_t>(0, -after));
    move.axes.push_back({count, from[i], to[i]});
    move.from_offset += skip * from[i];
    move.to_offset += std::max<int64_t>(0, before) * to[i];
  }
  return move;
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
    const std::optional<Move> move = PadMove(spec);
    if (!move) return nullptr;
    const auto value = static_cast<float>(spec.attributes.GetFloat("constant_value", 0));
    return std::make_unique<CopyKernel>(spec, std::vector<Move>{*move}, value);
  }
  std::optional<std::vector<Move>> moves = MovesOf(spec);
  if (!moves) return nullptr;
  return std::make_unique<CopyKernel>(spec, std::move(*moves));
}

}  // namespace quotient::kernels::cpu
