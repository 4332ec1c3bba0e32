#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// Call after CheckDevice.
absl::StatusOr<std::unique_ptr<Gpu>> OpenCudaGpu(int ordinal, const std::string& tf32_override,
                                                 CodeCache* cache);

}  // namespace quotient::kernels::cuda
