#pragma once

// Failures of cuDNN's own functions as statuses.

#include <cudnn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient::kernels::cuda {

// UNIMPLEMENTED for what cuDNN does not take, RESOURCE_EXHAUSTED for want of memory, else INTERNAL.
// `what` was being done.
absl::Status CudnnStatus(cudnnStatus_t status, absl::string_view what);

// The same for a failure that cudnn_frontend tells of by a text, in which cuDNN's own statuses
// stand by their names: UNIMPLEMENTED only if all of them say that something is not supported, or
// if there is none. A library that could not be loaded, say, knows no plans, but that is no answer.
absl::Status StatusOfText(const std::string& message);

}  // namespace quotient::kernels::cuda
