#pragma once

// Plans of graphs, by cudnn_frontend. This header does not include that library, because each file
// that does takes half a minute to compile: cudnn.cc and frontend_graph.cc.

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace cudnn_frontend {
class DeviceProperties;
}

namespace quotient::kernels::cuda {

// 91900 means 9.19.
int CudnnVersion();
// The CUDA that the cuDNN that was found is made for: 13010 means 13.1.
int CudaVersionOfCudnn();
// Fails with DEVICE_NOT_PRESENT if the library that was found is too old or for another CUDA.
absl::Status CheckCudnn();

// A description of a device as text, and back. Fails with INVALID_ARGUMENT for any other text.
using CudnnDescription = std::shared_ptr<const cudnn_frontend::DeviceProperties>;
absl::StatusOr<std::string> DescribeDevice(int ordinal);
absl::StatusOr<CudnnDescription> ParseDescription(const std::string& properties_json);

// What cuDNN is asked about: a device, by its handle, or a description of one.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  CudnnDescription properties;
  int compute_capability = 0;
  CodeCache* cache = nullptr;  // May be null.
  std::string device;          // Part of the cache's keys.
};

// A plan that has been built. Immutable.
class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  virtual absl::StatusOr<int64_t> WorkspaceBytes() const = 0;
  // Adds the plan to the handle's stream. Buffers as in DnnGraph.
  virtual absl::Status Execute(cudnnHandle_t handle, std::span<void*> buffers,
                               void* workspace) const = 0;
};

// Like Plans and Prepare of Gpu. Plan names are those of cudnn_plan_name.h. A target's handle
// serves one call at a time.
absl::StatusOr<std::vector<LibraryPlan>> FindPlans(const DnnGraph& graph,
                                                   const CudnnTarget& target);
// Plans that cuDNN compiles are taken from the target's cache and kept there.
absl::StatusOr<std::unique_ptr<CudnnPlan>> BuildPlan(const DnnGraph& graph, const std::string& plan,
                                                     const CudnnTarget& target);

}  // namespace quotient::kernels::cuda
