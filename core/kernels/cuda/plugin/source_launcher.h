#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/plugin/launcher.h"
#include "core/kernels/cuda/source_kernel.h"

namespace quotient::kernels::cuda {

// A kernel of ours, from what CompileToCubin made of it. For any device of that architecture.
absl::StatusOr<std::unique_ptr<Launcher>> LoadCubin(const SourceKernel& kernel,
                                                    const std::string& cubin);

}  // namespace quotient::kernels::cuda
