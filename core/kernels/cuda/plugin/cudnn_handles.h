#pragma once

// cuDNN's handles. A handle serves one thread at a time; making one takes milliseconds and device
// memory.

#include <cudnn.h>

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace quotient::kernels::cuda {

// Handles for the device that is selected when they are made. Thread-safe after Open.
class HandlePool {
 public:
  // `capturing`, which is borrowed, is held while a stream is captured. No handle can be made then.
  explicit HandlePool(absl::Mutex* capturing) : capturing_(*capturing) {}
  ~HandlePool();

  // Makes the handle for launches, which are captured one at a time.
  absl::Status Open();
  cudnnHandle_t for_launches() const { return for_launches_; }

  // An idle handle, or a new one, for the caller alone until it is returned.
  absl::StatusOr<cudnnHandle_t> Take() ABSL_LOCKS_EXCLUDED(capturing_);
  void Return(cudnnHandle_t handle);

 private:
  absl::Mutex& capturing_;
  absl::Mutex mutex_;
  std::vector<cudnnHandle_t> idle_ ABSL_GUARDED_BY(mutex_);
  cudnnHandle_t for_launches_ = nullptr;
};

// Holds a handle of the pool. The pool must outlive it.
class HandleLease {
 public:
  static absl::StatusOr<HandleLease> Of(HandlePool& pool);
  HandleLease(HandleLease&& other) noexcept;
  HandleLease& operator=(HandleLease&&) = delete;
  ~HandleLease();

  cudnnHandle_t get() const { return handle_; }

 private:
  HandleLease(HandlePool& pool, cudnnHandle_t handle) : pool_(pool), handle_(handle) {}

  HandlePool& pool_;
  cudnnHandle_t handle_;
};

}  // namespace quotient::kernels::cuda
