#pragma once

#include <driver_types.h>

#include "absl/status/status.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// The base class of all Launchers of this plug-in.
class StreamLauncher : public Launcher {
 public:
  // Adds the step's work to `stream`, which is being captured. One thread at a time per process.
  virtual absl::Status Enqueue(const Step& step, cudaStream_t stream) const = 0;
};

}  // namespace quotient::kernels::cuda
