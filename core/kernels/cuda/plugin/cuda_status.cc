#include "core/kernels/cuda/plugin/cuda_status.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"

namespace quotient::kernels::cuda {

namespace {

// Whether the context is lost, so that every later call fails in the same way.
bool IsForGood(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status CudaStatus(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  const std::string message = absl::StrCat(call.substr(0, call.find('(')), ": ",
                                           cudaGetErrorString(error), " (error ", error, ")");
  if (IsForGood(error)) {
    return MakeError(
        Reason::kDeviceLost,
        absl::StrCat("the GPU failed, and this process cannot use it any more: ", message));
  }
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message)
                                            : absl::InternalError(message);
}

}  // namespace quotient::kernels::cuda
