#pragma once

// cuDNN through cudnn_frontend, with a GPU and without one. The header tells nothing of either
// library: cudnn.cc takes half a minute to compile, and is the only file that includes them.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// 91900 for 9.19.
int CudnnVersion();
// DEVICE_NOT_PRESENT if the library that was found is too old.
absl::Status CheckCudnn();

// For the device that is selected in Create; whoever calls selects it again. Thread-safe. A cache
// (null: none) keeps plans that cuDNN compiles.
class Cudnn {
 public:
  // `facts`: what the driver says of the device.
  static absl::StatusOr<std::unique_ptr<Cudnn>> Create(int ordinal, const GpuFacts& facts,
                                                       CodeCache* cache);
  virtual ~Cudnn() = default;

  // As in Gpu. A plan's name lists its engine's number and knobs.
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) = 0;
  // The launcher must not outlive this object.
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                            const std::string& plan) = 0;
  // What NewDnnChecker takes, of this device.
  virtual absl::StatusOr<std::string> PropertiesJson() = 0;
};

// Needs no device. Thread-safe.
absl::StatusOr<std::unique_ptr<DnnChecker>> NewDnnChecker(const std::string& properties_json,
                                                          int compute_capability, CodeCache* cache);

}  // namespace quotient::kernels::cuda
