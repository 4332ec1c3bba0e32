#pragma once

// Whether all ways to run a kernel compute the same: a fast wrong one must not win.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/prepared_kernel.h"

namespace quotient::kernels::cuda {

// Runs each once on the same random operands and keeps those that agree with most others (of equal
// numbers, with the first); who leaves, or does not run, is logged. Kernels with one way, or too
// large for their operands to be made on the host, are left as they are: there the run of whole
// graphs tells. Uses the device: for the timing lane. RESOURCE_EXHAUSTED.
absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> ThoseThatAgree(
    const KernelSpec& spec, std::vector<std::shared_ptr<const PreparedKernel>> kernels, Gpu* gpu);

}  // namespace quotient::kernels::cuda
