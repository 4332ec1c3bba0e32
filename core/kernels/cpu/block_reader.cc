#include "core/kernels/cpu/block_reader.h"

#include "core/kernels/layout.h"

namespace quotient::kernels::cpu {

BlockReader::BlockReader(const Operand& operand, const Operand& output) {
  if (operand.type.elements() == 1) {
    kind_ = Kind::kScalar;
    return;
  }
  const std::vector<int64_t> dims = operand.type.dims();
  const std::vector<int64_t> full = output.type.dims();
  if (dims == full && SameMemory(output.type, operand.layout, output.layout)) {
    kind_ = Kind::kDense;
    return;
  }
  const std::vector<int64_t> strides =
      BroadcastStrides(dims, StridesOf(dims, operand.layout), full);
  for (int axis : PhysicalAxes(output.type.rank(), output.layout)) {
    if (full[axis] == 1) continue;
    const Axis next{full[axis], strides[axis]};
    if (!axes_.empty() && axes_.back().stride == next.stride * next.count) {
      axes_.back() = {axes_.back().count * next.count, next.stride};
    } else {
      axes_.push_back(next);
    }
  }
  if (axes_.empty()) axes_.push_back({1, 0});
}

int64_t BlockReader::RowOffset(int64_t row) const {
  int64_t offset = 0;
  for (size_t i = axes_.size() - 1; i-- > 0;) {
    offset += row % axes_[i].count * axes_[i].stride;
    row /= axes_[i].count;
  }
  return offset;
}

}  // namespace quotient::kernels::cpu
