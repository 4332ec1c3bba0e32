#pragma once

// Failures of the CUDA runtime as statuses.
//
//   QUOTIENT_CUDA_RETURN_IF_ERROR(cudaMalloc(&address, bytes));

#include <driver_types.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::cuda {

// RESOURCE_EXHAUSTED for want of memory, DEVICE_LOST for what CUDA's documentation says that only a
// new process helps against, else INTERNAL. `call` may go on with its arguments, which
// are left out of the message. The runtime forgets the error, so that no later call reports it.
absl::Status CudaStatus(cudaError_t error, absl::string_view call);

}  // namespace quotient::kernels::cuda

#define QUOTIENT_CUDA_RETURN_IF_ERROR(call) \
  QUOTIENT_RETURN_IF_ERROR(::quotient::kernels::cuda::CudaStatus((call), #call))
