#pragma once

// For specs without a kernel on the device: their reference evaluation as work on the host.

#include <functional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

// The inputs are all operands that are present, including constants, and the outputs are those that
// are present, in native storage and in the layouts of the spec. A failure while it runs (such as a
// Range of another length than it was compiled for) leaves the outputs unchanged.
using HostEvaluation = std::function<absl::Status(std::span<const void* const> inputs,
                                                  std::span<void* const> outputs)>;
// Fails with UNIMPLEMENTED if there is no reference evaluation.
absl::StatusOr<HostEvaluation> MakeHostEvaluation(const KernelSpec& spec);
// The same as a call from the device. A failure is logged, because it cannot be returned.
absl::StatusOr<HostCall> MakeHostCall(const KernelSpec& spec);

}  // namespace quotient::kernels::cuda
