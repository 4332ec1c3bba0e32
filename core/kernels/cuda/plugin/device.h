#pragma once

// One GPU through the CUDA runtime: its facts, its memory, its streams.

#include <driver_types.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/plugin/nvml.h"

namespace quotient::kernels::cuda {

// A stream that waits for no other, in particular not for CUDA's default stream.
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

// Fails with DEVICE_NOT_PRESENT unless there are a driver that is new enough and a GPU of that
// number for which Quotient has kernels.
absl::Status CheckDevice(int ordinal);

// Thread-safe.
class Device {
 public:
  // Call after CheckDevice.
  static absl::StatusOr<std::unique_ptr<Device>> Open(int ordinal);

  int ordinal() const { return ordinal_; }
  const Nvml* nvml() const { return nvml_.get(); }  // Null if there is none.

  // Selects it for this thread, for other functions of the runtime and of libraries.
  absl::Status Select() const;

  // As in Gpu.
  absl::Status health() const ABSL_LOCKS_EXCLUDED(health_mutex_);
  // Returns `result`, a Status or StatusOr of a call, and remembers if it means that the GPU is
  // lost.
  template <typename Result>
  Result Watch(Result result) const {
    Note(result);
    return result;
  }

  // The facts that the runtime, the driver and NVML report, without the libraries' versions.
  absl::StatusOr<GpuFacts> Facts() const;

  // On the selected device.
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
