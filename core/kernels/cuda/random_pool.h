#pragma once

// Random numbers on the device for timing kernels: as many bytes as all constants of a model, so
// that each run reads other weights, as cold as they are in the model.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

// Thread-safe.
class RandomPool {
 public:
  explicit RandomPool(Gpu* gpu) : gpu_(*gpu) {}

  // Read-only memory of at least that size with numbers in [-1/8, 1/8). This is the size of trained
  // weights, so that sums over them stay near 1. `type` is float32, float16 or bfloat16. Fails with
  // RESOURCE_EXHAUSTED.
  absl::StatusOr<std::shared_ptr<const Buffer>> Get(model::DType type, int64_t bytes);

 private:
  struct Entry {
    std::shared_ptr<const Buffer> buffer;
    int64_t bytes = 0;
  };
  absl::StatusOr<std::shared_ptr<const Buffer>> Make(model::DType type, int64_t bytes);

  Gpu& gpu_;
  absl::Mutex mutex_;
  std::map<model::DType, Entry> largest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::kernels::cuda
