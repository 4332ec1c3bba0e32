#include "core/kernels/cuda/plugin/source_launcher.h"

#include <cuda_runtime_api.h>

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/plugin/cuda_status.h"

namespace quotient::kernels::cuda {

namespace {

class SourceLauncher : public StreamLauncher {
 public:
  SourceLauncher(const SourceKernel& kernel, cudaLibrary_t library, cudaKernel_t function)
      : grid_(static_cast<unsigned>(kernel.grid)),
        block_(static_cast<unsigned>(kernel.block)),
        num_buffers_(static_cast<size_t>(kernel.num_buffers)),
        library_(library),
        function_(function) {}
  ~SourceLauncher() override { cudaLibraryUnload(library_); }

  int64_t workspace_bytes() const override { return 0; }

  absl::Status Enqueue(const Step& step, cudaStream_t stream) const override {
    if (step.buffers.size() != num_buffers_) {
      return absl::InvalidArgumentError(
          absl::StrCat("a kernel of ", num_buffers_, " buffers is given ", step.buffers.size()));
    }
    // The runtime takes the address of each argument and copies the arguments.
    std::vector<DeviceAddress> buffers = step.buffers;
    std::vector<void*> arguments;
    arguments.reserve(buffers.size());
    for (DeviceAddress& buffer : buffers) arguments.push_back(&buffer);
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaLaunchKernel(reinterpret_cast<const void*>(function_),
                                                   dim3(grid_), dim3(block_), arguments.data(),
                                                   /*sharedMem=*/0, stream));
    return absl::OkStatus();
  }

 private:
  const unsigned grid_;
  const unsigned block_;
  const size_t num_buffers_;
  const cudaLibrary_t library_;
  const cudaKernel_t function_;
};

absl::Status CheckSizes(const SourceKernel& kernel) {
  if (kernel.grid < 1 || kernel.grid > std::numeric_limits<int>::max() || kernel.block < 1 ||
      kernel.block > 1024 || kernel.num_buffers < 0) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.name, ": ", kernel.grid,
                                                   " blocks of ", kernel.block, " threads, ",
                                                   kernel.num_buffers, " buffers"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Launcher>> LoadCubin(const SourceKernel& kernel,
                                                    const std::string& cubin) {
  QUOTIENT_RETURN_IF_ERROR(CheckSizes(kernel));
  cudaLibrary_t library = nullptr;
  QUOTIENT_CUDA_RETURN_IF_ERROR(
      cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t function = nullptr;
  if (const cudaError_t error = cudaLibraryGetKernel(&function, library, kernel.name.c_str());
      error != cudaSuccess) {
    cudaLibraryUnload(library);
    return CudaStatus(error, absl::StrCat("cudaLibraryGetKernel of ", kernel.name));
  }
  return std::make_unique<SourceLauncher>(kernel, library, function);
}

}  // namespace quotient::kernels::cuda
