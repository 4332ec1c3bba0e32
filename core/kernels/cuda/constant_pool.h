#pragma once

// Packed constants on the device, indexed by content.

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/shared_constants.h"

namespace quotient::kernels::cuda {

// Thread-safe.
class ConstantPool {
 public:
  explicit ConstantPool(Gpu* gpu) : gpu_(*gpu) {}

  // Read-only memory with that content, which lives as long as it is referenced. Fails with
  // RESOURCE_EXHAUSTED.
  absl::StatusOr<std::shared_ptr<const Buffer>> Get(std::span<const std::byte> bytes);

 private:
  Gpu& gpu_;
  SharedConstants<Buffer> shared_;
};

}  // namespace quotient::kernels::cuda
