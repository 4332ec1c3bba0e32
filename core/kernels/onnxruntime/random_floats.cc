#include "core/kernels/onnxruntime/random_floats.h"

#include <algorithm>
#include <span>
#include <vector>

namespace quotient::kernels::onnxruntime {

model::Tensor RandomFloats(const model::TensorType& type, double most, double subnormal_share,
                           Rng& rng) {
  constexpr size_t kDifferent = size_t{1} << 14;
  constexpr double kSubnormalNumber = 1e-40;
  std::span<std::byte> bytes;
  model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &bytes);
  std::vector<double> values(std::min(kDifferent, static_cast<size_t>(tensor.elements())));
  for (double& value : values) {
    value = rng.Uniform(-most, most);
    if (rng.Uniform(0, 1) < subnormal_share) value = kSubnormalNumber;
  }
  for (int64_t at = 0; at < tensor.elements(); at += static_cast<int64_t>(values.size())) {
    const auto left = static_cast<size_t>(tensor.elements() - at);
    model::Store(type.dtype, bytes, at,
                 std::span<const double>(values).first(std::min(left, values.size())));
  }
  return tensor;
}

}  // namespace quotient::kernels::onnxruntime
