#pragma once

// Runs programs of our own kernels in the emulator, and computes the results that they should have.
// Values are stored as on a GPU: in their own types, including 16-bit floats, and in the layouts of
// the spec.

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/program/program.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/tensor.h"
#include "tests/support/cuda/emulator.h"

namespace quotient::kernels::cuda {

// Compiles the kernels of all programs together. Returns one kernel per launch for each program.
absl::StatusOr<std::vector<std::vector<EmulatedKernel>>> EmulateAll(
    std::span<const Program> programs);

// Runs a program and returns its outputs. INTERNAL if a kernel writes outside of its buffers.
absl::StatusOr<std::vector<model::Tensor>> RunProgram(const KernelSpec& spec,
                                                      const Program& program,
                                                      std::span<const EmulatedKernel> kernels,
                                                      std::span<const model::Tensor> operands);

// Computes the outputs of a spec by the reference evaluator. 16-bit floats are computed in float32
// from node to node and rounded at the end. Operands that are left out are ignored.
absl::StatusOr<std::vector<model::Tensor>> ReferenceOutputs(
    const KernelSpec& spec, std::span<const model::Tensor> operands);

// Makes random operands for a spec: floats in [-2, 2), half of them multiples of 1/4; integers in
// [-3, 3), unsigned ones in [0, 3); bools. Variances are positive, and exponents are as in the
// spec.
std::vector<model::Tensor> RandomOperands(const KernelSpec& spec, uint64_t seed);

}  // namespace quotient::kernels::cuda
