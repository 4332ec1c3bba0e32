#pragma once

// Buffers that are freed together.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// Frees all its buffers when destroyed. One thread at a time.
class DeviceMemory {
 public:
  explicit DeviceMemory(Gpu* gpu) : gpu_(*gpu) {}

  // Returns 0 for no bytes. Fails with RESOURCE_EXHAUSTED.
  absl::StatusOr<DeviceAddress> Allocate(int64_t bytes) {
    if (bytes == 0) return DeviceAddress{0};
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer, gpu_.Allocate(bytes));
    buffers_.push_back(std::move(buffer));
    return buffers_.back()->address();
  }

  // Allocates memory with this content.
  absl::StatusOr<DeviceAddress> Upload(std::span<const std::byte> bytes) {
    const auto size = static_cast<int64_t>(bytes.size());
    QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, Allocate(size));
    if (size > 0) QUOTIENT_RETURN_IF_ERROR(gpu_.Upload(address, bytes.data(), size));
    return address;
  }

 private:
  Gpu& gpu_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace quotient::kernels::cuda
