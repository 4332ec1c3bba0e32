#include "tests/support/cuda/host_values.h"

#include <bit>

#include "core/base/float16.h"

namespace quotient::kernels::cuda::host {

using model::DType;

double Load(DType type, const void* data, int64_t index) {
  switch (type) {
    case DType::kFloat16:
      return Float16ToFloat(static_cast<const uint16_t*>(data)[index]);
    case DType::kBfloat16:
      return Bfloat16ToFloat(static_cast<const uint16_t*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

void Store(DType type, void* data, int64_t index, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case DType::kFloat16:
      static_cast<uint16_t*>(data)[index] = FloatToFloat16(narrow);
      return;
    case DType::kBfloat16:
      static_cast<uint16_t*>(data)[index] = FloatToBfloat16(narrow);
      return;
    default:
      static_cast<float*>(data)[index] = narrow;
  }
}

double ToTf32(double value) {
  constexpr uint32_t kDropped = 13;
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  bits = (bits + (1u << (kDropped - 1))) & ~((1u << kDropped) - 1);
  return std::bit_cast<float>(bits);
}

int64_t Volume(const std::vector<int64_t>& dims) {
  int64_t volume = 1;
  for (const int64_t dim : dims) volume *= dim;
  return volume;
}

void ForEach(const std::vector<int64_t>& dims,
             const std::function<void(std::span<const int64_t>)>& visit) {
  if (Volume(dims) == 0) return;
  std::vector<int64_t> index(dims.size(), 0);
  while (true) {
    visit(index);
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace quotient::kernels::cuda::host
