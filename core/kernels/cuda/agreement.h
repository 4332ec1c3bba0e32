#pragma once

// Checks that all ways to run a kernel compute the same, so that a fast wrong one cannot win.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/cuda/run_journal.h"

namespace quotient::kernels::cuda {

// Runs each kernel once on the same random operands. If results differ, it keeps the kernels that
// compute what the reference evaluation on the host does or, if none does, that agree with most
// others (on a tie, with the first). If graphs may let the kernel write its output over an operand
// (kernels::MayOverwrite), each kernel also runs that way and must agree with itself. Kernels that
// are dropped or do not run are logged. Nothing is checked if there is only one kernel and it
// writes over nothing, or if the operands are too large to be made on the host; then the run of
// whole graphs is the check. Uses the device, so it is for the timing lane. Fails with
// RESOURCE_EXHAUSTED, or with INTERNAL if no kernel runs. `journal` may be null.
absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> ThoseThatAgree(
    const KernelSpec& spec, MathPolicy policy,
    std::vector<std::shared_ptr<const PreparedKernel>> kernels, Gpu* gpu, RunJournal* journal);

}  // namespace quotient::kernels::cuda
