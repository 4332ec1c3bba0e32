#pragma once

// Packed constants on the device, indexed by content: graphs that are compared share most of their
// weights and are in memory at the same time.

#include <cstddef>
#include <memory>
#include <span>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"
#include "core/kernels/cuda/interface/gpu.h"

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
  absl::Mutex mutex_;
  absl::flat_hash_map<Digest, std::weak_ptr<const Buffer>> buffers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::kernels::cuda
