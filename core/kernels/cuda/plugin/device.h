#pragma once

// One GPU through the CUDA runtime: what it is, its memory, its streams.

#include <driver_types.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/cuda/gpu.h"
#include "core/kernels/cuda/plugin/nvml.h"

namespace quotient::kernels::cuda {

// A stream that waits for no other, least of all for the one that CUDA calls default.
class Stream {
 public:
  static absl::StatusOr<std::unique_ptr<Stream>> Create();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  explicit Stream(cudaStream_t stream) : stream_(stream) {}
  const cudaStream_t stream_;
};

// DEVICE_NOT_PRESENT unless there are a driver that is new enough and a GPU of that number, and it
// is one that we have kernels for.
absl::Status CheckDevice(int ordinal);

// Thread-safe.
class Device {
 public:
  // After CheckDevice.
  static absl::StatusOr<std::unique_ptr<Device>> Open(int ordinal);

  int ordinal() const { return ordinal_; }
  const Nvml* nvml() const { return nvml_.get(); }  // null if there is none

  // Makes it this thread's: what other functions of the runtime and of libraries then talk to.
  absl::Status Select() const;

  // As Gpu's.
  absl::Status health() const ABSL_LOCKS_EXCLUDED(health_mutex_);
  // Passes on what a call came to, a Status or a StatusOr, and remembers that the GPU is lost.
  template <typename Result>
  Result Watch(Result result) const {
    Note(result);
    return result;
  }

  // What the runtime, the driver and NVML know; the libraries' versions are left out.
  absl::StatusOr<GpuFacts> Facts() const;

  // On the device that is selected.
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) const;
  absl::Status Upload(DeviceAddress to, const void* from, int64_t bytes);
  absl::Status Download(void* to, DeviceAddress from, int64_t bytes);

 private:
  Device(int ordinal, std::unique_ptr<Stream> copies, std::unique_ptr<Nvml> nvml);
  absl::Status Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind);
  void Note(const absl::Status& status) const ABSL_LOCKS_EXCLUDED(health_mutex_);
  template <typename T>
  void Note(const absl::StatusOr<T>& result) const {
    Note(result.status());
  }

  const int ordinal_;
  const std::unique_ptr<Nvml> nvml_;
  absl::Mutex mutex_;
  const std::unique_ptr<Stream> copies_ ABSL_PT_GUARDED_BY(mutex_);
  mutable absl::Mutex health_mutex_;
  mutable absl::Status health_ ABSL_GUARDED_BY(health_mutex_);
};

}  // namespace quotient::kernels::cuda
