#include "core/kernels/onnxruntime/helper/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/model/dtype.h"
#include "core/model/tensor.h"

namespace quotient::kernels::onnxruntime {
namespace {

using model::DType;

// Shapes, axes and pads are shorter, and so are the parameters of element-wise operators.
constexpr int64_t kFewIntegers = 64;
constexpr int64_t kFewFloats = 4;

double SubnormalShare(const model::Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  tensor.Load(0, std::span(values));
  const auto subnormal = [](float value) {
    return value != 0 && std::abs(value) < std::numeric_limits<float>::min();
  };
  const auto count = std::ranges::count_if(values, subnormal);
  return static_cast<double>(count) / static_cast<double>(std::max<size_t>(1, values.size()));
}

}  // namespace

ort::v1::Described::Output Summarize(const HostTensor& host) {
  ort::v1::Described::Output output;
  output.mutable_info()->set_name(host.name);
  output.mutable_info()->set_dtype(host.dtype);
  output.mutable_info()->mutable_dims()->Add(host.dims.begin(), host.dims.end());
  const DType dtype = *model::DTypeFromOnnx(host.dtype);
  const model::Tensor tensor(dtype, host.dims, std::as_bytes(std::span(host.bytes)), nullptr);
  const bool few = tensor.elements() <= (model::IsFloat(dtype) ? kFewFloats : kFewIntegers);
  if (few) output.set_content(host.bytes);
  if (dtype == DType::kFloat32) output.set_subnormal_share(SubnormalShare(tensor));
  if (model::IsFloat(dtype) || tensor.elements() == 0) return output;
  std::vector<int64_t> values(static_cast<size_t>(tensor.elements()));
  tensor.Load(0, std::span(values));
  const auto [least, most] = std::ranges::minmax_element(values);
  output.set_least(*least);
  output.set_most(*most);
  return output;
}

}  // namespace quotient::kernels::onnxruntime
