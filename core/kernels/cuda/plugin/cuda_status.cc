#include "core/kernels/cuda/plugin/cuda_status.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"

namespace quotient::kernels::cuda {

absl::Status CudaStatus(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  const std::string message = absl::StrCat(call.substr(0, call.find('(')), ": ",
                                           cudaGetErrorString(error), " (error ", error, ")");
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message)
                                            : absl::InternalError(message);
}

}  // namespace quotient::kernels::cuda
