#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/plugin/launcher.h"
#include "core/kernels/cuda/source_kernel.h"

namespace quotient::kernels::cuda {

// One of Quotient's kernels from the output of CompileToCubin, for any device of that architecture.
absl::StatusOr<std::unique_ptr<Launcher>> LoadCubin(const SourceKernel& kernel,
                                                    const std::string& cubin);

}  // namespace quotient::kernels::cuda
