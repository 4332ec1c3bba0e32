#include "core/kernels/cuda/image.h"

#include <utility>

#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {

DnnTensor ImageOf(model::DType type, std::vector<int64_t> dims, Layout layout) {
  std::vector<int64_t> strides = StridesOf(dims, layout);
  if (dims.size() == 3) {
    strides.insert(strides.begin() + 2, dims[2] * strides[2]);
    dims.insert(dims.begin() + 2, 1);
  }
  return {.type = type, .dims = std::move(dims), .strides = std::move(strides)};
}

DnnTensor ImageOf(const Operand& operand) {
  return ImageOf(operand.type.dtype, operand.type.dims(), operand.layout);
}

bool IsChannelsLast(const Operand& operand) {
  return SameMemory(operand.type, operand.layout, Layout::kChannelsLast);
}

model::Ints WithAxis(model::Ints per_axis, int64_t neutral) {
  if (per_axis.size() == 1) per_axis.insert(per_axis.begin(), neutral);
  return per_axis;
}

DnnTensor RowsOf(model::DType type, int64_t rows, int64_t length) {
  return ImageOf(type, {rows, length, 1, 1}, Layout::kChannelsLast);
}

}  // namespace quotient::kernels::cuda
