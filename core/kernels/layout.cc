#include "core/kernels/layout.h"

#include <numeric>

namespace quotient::kernels {
LayoutRole RoleOf(absl::string_view op) {
  if (op == kReorderOp) return LayoutRole::kAny;
  const ops::OpDef* row = ops::FindOp(op);
  return row == nullptr ? LayoutRole::kPlain : row->layout;
}

bool HasLayout(const model::TensorType& type) {
  return type.has_rank() && type.rank() >= 3 && type.rank() <= 5 && model::IsFloat(type.dtype);
}

std::vector<int> PhysicalAxes(int rank, Layout layout) {
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (layout == Layout::kChannelsLast && rank >= 3) {
    axes.erase(axes.begin() + 1);
    axes.push_back(1);
  }
  return axes;
}

AxisInMemory FindAxis(std::span<const int64_t> dims, int64_t axis, Layout layout) {
  AxisInMemory found = {.length = dims[axis]};
  bool is_behind = false;
  for (const int physical : PhysicalAxes(static_cast<int>(dims.size()), layout)) {
    if (physical == axis) {
      is_behind = true;
    } else {
      (is_behind ? found.inner : found.outer) *= dims[physical];
    }
  }
  return found;
}

std::vector<int64_t> StridesOf(std::span<const int64_t> dims, Layout layout) {
  std::vector<int64_t> strides(dims.size());
  const std::vector<int> axes = PhysicalAxes(static_cast<int>(dims.size()), layout);
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    strides[axes[i]] = stride;
    stride *= dims[axes[i]];
  }
  return strides;
}

std::vector<int64_t> BroadcastStrides(std::span<const int64_t> dims,
                                      std::span<const int64_t> strides,
                                      std::span<const int64_t> to) {
  std::vector<int64_t> result(to.size(), 0);
  const size_t lead = to.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) result[lead + i] = dims[i] == 1 ? 0 : strides[i];
  return result;
}

bool SameMemory(const model::TensorType& type, Layout a, Layout b) {
  if (a == b || type.rank() < 3) return true;
  const std::vector<int64_t> dims = type.dims();
  int64_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  return dims[1] <= 1 || spatial <= 1;
}

bool IsPlain(const Operand& operand) {
  return SameMemory(operand.type, operand.layout, Layout::kPlain);
}

Layout CanonicalLayout(const model::TensorType& type, Layout layout) {
  return SameMemory(type, layout, Layout::kPlain) ? Layout::kPlain : layout;
}

}  // namespace quotient::kernels
