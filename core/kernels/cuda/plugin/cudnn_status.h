#pragma once

// Failures of cuDNN's own functions as statuses.

#include <cudnn.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient::kernels::cuda {

// UNIMPLEMENTED for what cuDNN does not take, RESOURCE_EXHAUSTED for want of memory, else INTERNAL.
// `what` was being done.
absl::Status CudnnStatus(cudnnStatus_t status, absl::string_view what);

}  // namespace quotient::kernels::cuda
