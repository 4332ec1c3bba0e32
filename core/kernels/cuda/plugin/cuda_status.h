#pragma once

// Converts errors of the CUDA runtime to statuses.
//
//   QUOTIENT_CUDA_RETURN_IF_ERROR(cudaMalloc(&address, bytes));

#include <driver_types.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::cuda {

// Returns RESOURCE_EXHAUSTED for a lack of memory, DEVICE_LOST for errors after which, by CUDA's
// documentation, only a new process helps, and otherwise INTERNAL. `call` may include its
// arguments, which are left out of the message. The runtime forgets the error, so that no later
// call reports it.
absl::Status CudaStatus(cudaError_t error, absl::string_view call);

}  // namespace quotient::kernels::cuda

#define QUOTIENT_CUDA_RETURN_IF_ERROR(call) \
  QUOTIENT_RETURN_IF_ERROR(::quotient::kernels::cuda::CudaStatus((call), #call))
