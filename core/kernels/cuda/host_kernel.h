#pragma once

// What no kernel on the device can do: the reference evaluation of a spec, as work on the host.

#include "absl/status/statusor.h"
#include "core/kernels/cuda/gpu.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

// Inputs are all operands that are there, constant ones too, outputs those that are there, in
// native storage and in the layouts of the spec. UNIMPLEMENTED without a reference evaluation.
// Where it fails while it runs (a Range of another length than it was compiled for), outputs stay
// as they are and the failure is logged: nothing is there to return it.
absl::StatusOr<HostCall> MakeHostCall(const KernelSpec& spec);

}  // namespace quotient::kernels::cuda
