#pragma once

// Whether all ways to run a kernel compute the same: a fast wrong one must not win.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/cuda/run_journal.h"

namespace quotient::kernels::cuda {

// Runs each once on the same random operands and keeps those that agree with most others (of equal
// numbers, with the first). Where graphs let a kernel write its output over an operand
// (kernels::MayOverwrite), each runs so once more and has to agree with itself. Who leaves, or does
// not run, is logged. Kernels with one way that writes over nothing, or too large for their
// operands to be made on the host, are left as they are: there the run of whole graphs tells. Uses
// the device: for the timing lane. RESOURCE_EXHAUSTED; INTERNAL if none is left. `journal` may be
// null.
absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> ThoseThatAgree(
    const KernelSpec& spec, std::vector<std::shared_ptr<const PreparedKernel>> kernels, Gpu* gpu,
    RunJournal* journal);

}  // namespace quotient::kernels::cuda
