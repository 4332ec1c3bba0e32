#pragma once

#include <driver_types.h>

#include "absl/status/status.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// What every Launcher of this plug-in is.
class StreamLauncher : public Launcher {
 public:
  // Adds the step's work to `stream`, which is being captured. One thread at a time in a process.
  virtual absl::Status Enqueue(const Step& step, cudaStream_t stream) const = 0;
};

}  // namespace quotient::kernels::cuda
