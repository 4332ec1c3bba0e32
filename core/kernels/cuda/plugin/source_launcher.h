#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/source_kernel.h"
#include "core/kernels/cuda/plugin/launcher.h"

namespace quotient::kernels::cuda {

// One of Quotient's kernels from the output of CompileToCubin, for any device of that architecture.
absl::StatusOr<std::unique_ptr<Launcher>> LoadCubin(const SourceKernel& kernel,
                                                    const std::string& cubin);

}  // namespace quotient::kernels::cuda
