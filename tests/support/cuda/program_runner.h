#pragma once

// Programs of our own kernels, run by the emulator, and what they should compute. Values lie as
// they do on a GPU: in their own types, 16-bit floats too, in the layouts of the spec.

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/program.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"
#include "tests/support/cuda/emulator.h"

namespace quotient::kernels::cuda {

// The emulated kernels of each program, compiled together; one per launch.
absl::StatusOr<std::vector<std::vector<EmulatedKernel>>> EmulateAll(
    std::span<const Program> programs);

// The outputs of a program. INTERNAL if a kernel writes beside a buffer it is given.
absl::StatusOr<std::vector<model::Tensor>> RunProgram(const KernelSpec& spec,
                                                      const Program& program,
                                                      std::span<const EmulatedKernel> kernels,
                                                      std::span<const model::Tensor> operands);

// What a spec computes, by the reference evaluation. Floats of 16 bits are computed in float32 from
// node to node, and rounded at the end. Operands that are left out are not looked at.
absl::StatusOr<std::vector<model::Tensor>> ReferenceOutputs(
    const KernelSpec& spec, std::span<const model::Tensor> operands);

// Random operands for a spec: floats in [-2, 2), half of them multiples of 1/4; integers in
// [-3, 3), unsigned ones in [0, 3), bools; variances are positive, and exponents what specs say.
std::vector<model::Tensor> RandomOperands(const KernelSpec& spec, uint64_t seed);

}  // namespace quotient::kernels::cuda
