#include "core/kernels/cuda/plugin/cudnn_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace quotient::kernels::cuda {

absl::Status CudnnStatus(cudnnStatus_t status, absl::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message = absl::StrCat("cuDNN: ", what, ": ", cudnnGetErrorString(status));
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    return absl::ResourceExhaustedError(message);
  }
  const auto category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM
             ? absl::UnimplementedError(message)
             : absl::InternalError(message);
}

}  // namespace quotient::kernels::cuda
