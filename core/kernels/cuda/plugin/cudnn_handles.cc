#include "core/kernels/cuda/plugin/cudnn_handles.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/cudnn_status.h"

namespace quotient::kernels::cuda {

HandlePool::~HandlePool() {
  for (cudnnHandle_t handle : idle_) cudnnDestroy(handle);
  if (for_launches_ != nullptr) cudnnDestroy(for_launches_);
}

absl::Status HandlePool::Open() { return CudnnStatus(cudnnCreate(&for_launches_), "cudnnCreate"); }

absl::StatusOr<cudnnHandle_t> HandlePool::Take() {
  {
    absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      cudnnHandle_t handle = idle_.back();
      idle_.pop_back();
      return handle;
    }
  }
  cudnnHandle_t handle = nullptr;
  const absl::MutexLock nobody_captures(&capturing_);
  QUOTIENT_RETURN_IF_ERROR(CudnnStatus(cudnnCreate(&handle), "cudnnCreate"));
  return handle;
}

void HandlePool::Return(cudnnHandle_t handle) {
  absl::MutexLock lock(&mutex_);
  idle_.push_back(handle);
}

absl::StatusOr<HandleLease> HandleLease::Of(HandlePool& pool) {
  QUOTIENT_ASSIGN_OR_RETURN(cudnnHandle_t handle, pool.Take());
  return HandleLease(pool, handle);
}

HandleLease::HandleLease(HandleLease&& other) noexcept
    : pool_(other.pool_), handle_(std::exchange(other.handle_, nullptr)) {}

HandleLease::~HandleLease() {
  if (handle_ != nullptr) pool_.Return(handle_);
}

}  // namespace quotient::kernels::cuda
