#include "core/kernels/onnxruntime/helper/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "core/model/dtype.h"
#include "core/model/tensor.h"

namespace quotient::kernels::onnxruntime {
namespace {

using model::DType;

// Shapes, axes and pads are shorter, and so are the parameters of element-wise operators.
constexpr int64_t kFewIntegers = 64;
constexpr int64_t kFewFloats = 4;

// Calls visit(values) for the elements as numbers of type T, some at a time.
template <typename T, typename Visit>
void ForEachPart(const model::Tensor& tensor, const Visit& visit) {
  std::array<T, 4096> buffer;
  for (int64_t first = 0; first < tensor.elements();) {
    const auto count = std::min(static_cast<int64_t>(buffer.size()), tensor.elements() - first);
    const std::span<T> values(buffer.data(), static_cast<size_t>(count));
    tensor.Load(first, values);
    visit(values);
    first += count;
  }
}

double SubnormalShare(const model::Tensor& tensor) {
  const auto subnormal = [](float value) {
    return value != 0 && std::abs(value) < std::numeric_limits<float>::min();
  };
  int64_t count = 0;
  ForEachPart<float>(tensor, [&](std::span<const float> values) {
    count += std::ranges::count_if(values, subnormal);
  });
  return static_cast<double>(count) / static_cast<double>(std::max<int64_t>(1, tensor.elements()));
}

}  // namespace

ort::v1::Kept::Output Summarize(const TensorView& host) {
  ort::v1::Kept::Output output;
  output.mutable_info()->set_name(host.name);
  output.mutable_info()->set_dtype(host.dtype);
  output.mutable_info()->mutable_dims()->Add(host.dims.begin(), host.dims.end());
  const DType dtype = *model::DTypeFromOnnx(host.dtype);
  const model::Tensor tensor(dtype, host.dims, std::as_bytes(std::span(host.bytes)), nullptr);
  const bool few = tensor.elements() <= (model::IsFloat(dtype) ? kFewFloats : kFewIntegers);
  if (few) output.set_content(std::string(host.bytes));
  if (dtype == DType::kFloat32) output.set_subnormal_share(SubnormalShare(tensor));
  if (model::IsFloat(dtype) || tensor.elements() == 0) return output;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();
  ForEachPart<int64_t>(tensor, [&](std::span<const int64_t> values) {
    const auto [low, high] = std::ranges::minmax_element(values);
    least = std::min(least, *low);
    most = std::max(most, *high);
  });
  output.set_least(least);
  output.set_most(most);
  return output;
}

}  // namespace quotient::kernels::onnxruntime
