#pragma once

// Converts errors of cuDNN to statuses.

#include <cudnn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient::kernels::cuda {

// Returns UNIMPLEMENTED for what cuDNN does not support, RESOURCE_EXHAUSTED for a lack of memory,
// and otherwise INTERNAL. `what` was being done.
absl::Status CudnnStatus(cudnnStatus_t status, absl::string_view what);

// The same for an error message of cudnn_frontend, which contains cuDNN's statuses by name. Returns
// UNIMPLEMENTED only if all of them say that something is not supported, or if there is none. For
// example, a library that could not be loaded has no plans, but that does not mean "not supported".
absl::Status StatusOfText(const std::string& message);

}  // namespace quotient::kernels::cuda
