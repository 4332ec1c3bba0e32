#include "core/kernels/cuda/random_pool.h"

#include <algorithm>

#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/storage.h"
#include "core/model/tensor.h"

namespace quotient::kernels::cuda {

absl::StatusOr<std::shared_ptr<const Buffer>> RandomPool::Get(model::DType type, int64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  Entry& entry = largest_[type];
  if (entry.buffer == nullptr || entry.bytes < bytes) {
    QUOTIENT_ASSIGN_OR_RETURN(entry.buffer, Make(type, bytes));
    entry.bytes = bytes;
  }
  return entry.buffer;
}

absl::StatusOr<std::shared_ptr<const Buffer>> RandomPool::Make(model::DType type, int64_t bytes) {
  constexpr int64_t kPattern = 1 << 20;  // Distinct numbers; then they repeat.
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<const Buffer> buffer, gpu_.Allocate(bytes));
  const int64_t pattern_bytes = kPattern * StorageBytes(type, Storage::kNative);
  std::vector<double> values(kPattern);
  Rng rng(1);
  for (double& value : values) value = rng.Uniform(-0.125, 0.125);
  std::vector<std::byte> pattern(static_cast<size_t>(pattern_bytes));
  model::Store(type, pattern, 0, std::span<const double>(values));
  for (int64_t offset = 0; offset < bytes; offset += pattern_bytes) {
    QUOTIENT_RETURN_IF_ERROR(gpu_.Upload(buffer->address() + static_cast<DeviceAddress>(offset),
                                         pattern.data(), std::min(pattern_bytes, bytes - offset)));
  }
  return buffer;
}

}  // namespace quotient::kernels::cuda
