#pragma once

// Packed constants on the device, by their content: graphs that are compared have most of their
// weights in common, and all of them are there at the same time.

#include <cstddef>
#include <memory>
#include <span>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// Thread-safe.
class ConstantPool {
 public:
  explicit ConstantPool(Gpu* gpu) : gpu_(*gpu) {}

  // Memory with that content, to be read only: there as long as somebody holds it.
  // RESOURCE_EXHAUSTED.
  absl::StatusOr<std::shared_ptr<const Buffer>> Get(std::span<const std::byte> bytes);

 private:
  Gpu& gpu_;
  absl::Mutex mutex_;
  absl::flat_hash_map<Digest, std::weak_ptr<const Buffer>> buffers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::kernels::cuda
