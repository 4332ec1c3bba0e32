#pragma once

// cuDNN on a GPU.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// For the device that is selected in Create; callers must select it again. Thread-safe. The cache,
// which may be null, keeps plans that cuDNN compiles.
class CudnnDevice {
 public:
  // `facts` come from the driver. `capturing` is held while a stream is captured.
  static absl::StatusOr<std::unique_ptr<CudnnDevice>> Create(int ordinal, const GpuFacts& facts,
                                                             CodeCache* cache,
                                                             absl::Mutex* capturing);
  virtual ~CudnnDevice() = default;

  // As in Gpu. A plan's name contains its engine's number and knobs.
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) = 0;
  // The launcher must not outlive this object.
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                            const std::string& plan) = 0;
  // The description of this device that NewDnnChecker takes.
  virtual absl::StatusOr<std::string> PropertiesJson() = 0;
};

}  // namespace quotient::kernels::cuda
