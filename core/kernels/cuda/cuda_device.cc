#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "core/kernels/cuda/cuda_backend.h"

namespace quotient::kernels::cuda {

std::optional<CudaDevice> ParseCudaDevice(absl::string_view name) {
  CudaDevice device;
  if (!absl::ConsumePrefix(&name, "cuda")) return std::nullopt;
  if (absl::ConsumeSuffix(&name, "-strict32")) device.policy = MathPolicy::kStrict32;
  if (name.empty()) return device;
  // Each number can be written in only one way, with few enough digits for an int.
  const bool is_number = absl::ConsumePrefix(&name, ":") && !name.empty() && name.size() <= 3 &&
                         absl::c_all_of(name, absl::ascii_isdigit) &&
                         (name.size() == 1 || name[0] != '0');
  if (!is_number || !absl::SimpleAtoi(name, &device.ordinal)) return std::nullopt;
  return device;
}

}  // namespace quotient::kernels::cuda
