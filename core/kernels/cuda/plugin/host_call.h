#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/plugin/launcher.h"

namespace quotient::kernels::cuda {

// Work on the host between two copies, with its own pinned memory.
absl::StatusOr<std::unique_ptr<Launcher>> PrepareHostCall(HostCall call);

}  // namespace quotient::kernels::cuda
