#include "core/kernels/moves.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/kernels/layout.h"
#include "core/kernels/view.h"
#include "core/ops/op.h"

namespace quotient::kernels {
namespace {

using Moves = std::optional<std::vector<Move>>;

std::vector<int64_t> Strides(const Operand& operand) {
  return StridesOf(operand.type.dims(), operand.layout);
}

Move Box(const std::vector<int64_t>& count, const std::vector<int64_t>& from,
         const std::vector<int64_t>& to) {
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < count.size(); ++i) axes.push_back({count[i], from[i], to[i]});
  return Move{.axes = std::move(axes)};
}

Moves SameIndexMoves(const KernelSpec& spec) {
  return {{Box(spec.outputs[0].type.dims(), Strides(spec.inputs[0]), Strides(spec.outputs[0]))}};
}

// The same elements in row-major order with other dimensions.
Moves FlatMoves(const KernelSpec& spec) {
  if (!IsPlain(spec.inputs[0]) || !IsPlain(spec.outputs[0])) return std::nullopt;
  return {{Move{.axes = {{spec.outputs[0].type.elements(), 1, 1}}}}};
}

Moves TransposeMoves(const KernelSpec& spec) {
  const std::vector<int64_t> strides = Strides(spec.inputs[0]);
  model::Ints reversed;
  for (size_t i = strides.size(); i-- > 0;) reversed.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> from;
  for (const int64_t axis : spec.attributes.GetInts("perm", reversed)) {
    from.push_back(strides[axis]);
  }
  return {{Box(spec.outputs[0].type.dims(), from, Strides(spec.outputs[0]))}};
}

// For Slice and Split.
Moves RegionMoves(const KernelSpec& spec) {
  const std::vector<int64_t> strides = Strides(spec.inputs[0]);
  std::vector<Move> moves;
  const std::optional<std::vector<Region>> regions = RegionsOf(spec);
  if (!regions) return std::nullopt;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    const Region& region = (*regions)[i];
    std::vector<int64_t> from(strides.size());
    int64_t offset = 0;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      from[axis] = strides[axis] * region.steps[axis];
      offset += strides[axis] * region.starts[axis];
    }
    Move move = Box(spec.outputs[i].type.dims(), from, Strides(spec.outputs[i]));
    move.output = static_cast<int>(i);
    move.from_offset = offset;
    moves.push_back(std::move(move));
  }
  return moves;
}

Moves ConcatMoves(const KernelSpec& spec) {
  const std::vector<int64_t> to = Strides(spec.outputs[0]);
  int64_t axis = spec.attributes.GetInt("axis", 0);
  if (axis < 0) axis += spec.outputs[0].type.rank();
  std::vector<Move> moves;
  int64_t start = 0;
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const std::vector<int64_t> dims = spec.inputs[i].type.dims();
    Move move = Box(dims, Strides(spec.inputs[i]), to);
    move.operand = static_cast<int>(i);
    move.to_offset = start * to[axis];
    start += dims[axis];
    moves.push_back(std::move(move));
  }
  return moves;
}

Moves ExpandMoves(const KernelSpec& spec) {
  const std::vector<int64_t> dims = spec.outputs[0].type.dims();
  const std::vector<int64_t> from =
      BroadcastStrides(spec.inputs[0].type.dims(), Strides(spec.inputs[0]), dims);
  return {{Box(dims, from, Strides(spec.outputs[0]))}};
}

Moves TileMoves(const KernelSpec& spec) {
  const model::Ints* repeats = spec.attributes.FindInts("repeats");
  if (repeats == nullptr) return std::nullopt;
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const std::vector<int64_t> from = Strides(spec.inputs[0]);
  const std::vector<int64_t> to = Strides(spec.outputs[0]);
  Move move;
  for (size_t i = 0; i < dims.size(); ++i) {
    move.axes.push_back({(*repeats)[i], 0, dims[i] * to[i]});
    move.axes.push_back({dims[i], from[i], to[i]});
  }
  return {{move}};
}

}  // namespace

int64_t Move::elements() const {
  return std::accumulate(axes.begin(), axes.end(), int64_t{1},
                         [](int64_t product, const CopyAxis& a) { return product * a.count; });
}

std::optional<std::vector<Move>> MovesOf(const KernelSpec& spec) {
  const absl::string_view op = spec.op;
  const ops::OpDef* const row = ops::FindOp(op);
  const bool is_copy = row != nullptr && row->movement == ops::Movement::kCopy;
  if (row != nullptr && row->op_class == ops::OpClass::kView && !is_copy) {
    // A shape input that is not constant adds nothing to the types.
    return FlatMoves(spec);
  }
  if (op == "Expand") return ExpandMoves(spec);
  if (op == "Concat") return ConcatMoves(spec);
  if (!ReadsOnlyInputZero(spec)) return std::nullopt;
  if (op == kReorderOp || is_copy) return SameIndexMoves(spec);
  if (op == "Transpose") return TransposeMoves(spec);
  if (op == "Slice" || op == "Split") return RegionMoves(spec);
  if (op == "Tile") return TileMoves(spec);
  return std::nullopt;
}

std::vector<CopyAxis> Simplify(std::vector<CopyAxis> axes) {
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.count == 1; });
  std::stable_sort(axes.begin(), axes.end(), [](const CopyAxis& a, const CopyAxis& b) {
    return std::abs(a.to) > std::abs(b.to);
  });
  std::vector<CopyAxis> joined;
  for (const CopyAxis& axis : axes) {
    if (!joined.empty() && joined.back().to == axis.to * axis.count &&
        joined.back().from == axis.from * axis.count) {
      joined.back() = {joined.back().count * axis.count, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  if (joined.empty()) joined.push_back({1, 1, 1});
  return joined;
}

bool ReadsOnlyInputZero(const KernelSpec& spec) {
  return std::all_of(spec.inputs.begin() + 1, spec.inputs.end(),
                     [](const Operand& o) { return o.type.dtype == model::DType::kUndefined; });
}

}  // namespace quotient::kernels
