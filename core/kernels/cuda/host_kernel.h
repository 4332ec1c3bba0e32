#pragma once

// For specs without a kernel on the device: their reference evaluation as work on the host.

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

// The inputs are all operands that are present, including constants, and the outputs are those that
// are present, in native storage and in the layouts of the spec. Fails with UNIMPLEMENTED if there
// is no reference evaluation. If the evaluation fails while it runs (such as a Range of another
// length than it was compiled for), the outputs stay unchanged and the failure is logged, because
// it cannot be returned.
absl::StatusOr<HostCall> MakeHostCall(const KernelSpec& spec);

}  // namespace quotient::kernels::cuda
