#pragma once

// Captures a sequence of launches as one CUDA graph.

#include <memory>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/plugin/device.h"

namespace quotient::kernels::cuda {

// Captures for one device, which must be selected, one sequence at a time. Keeps its streams,
// because libraries remember the last stream that they were given; so the libraries' handles must
// be destroyed before it. Thread-safe.
class Capturer {
 public:
  explicit Capturer(const Device& device) : device_(device) {}

  // Held while a stream is captured, to exclude what CUDA does not allow meanwhile.
  absl::Mutex* capturing() { return &mutex_; }

  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps);

 private:
  absl::Status Record(std::span<const Step> steps) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Reserve(size_t streams) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Device& device_;
  absl::Mutex mutex_;
  // Captures begin and end on the first; the others are the lanes.
  std::vector<std::unique_ptr<Stream>> streams_ ABSL_GUARDED_BY(mutex_);
  // Shared by all replays, of which there may be thousands. They run one at a time.
  std::shared_ptr<Stream> replay_stream_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::kernels::cuda
