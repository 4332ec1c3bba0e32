#pragma once

// Lower: finds the ways in which a GPU may run a kernel. Pure, and needs no GPU; which of them the
// libraries really support, and which is fastest, is found out on the device.

#include <optional>
#include <vector>

#include "core/kernels/cuda/program/program.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

// In the order in which they are worth trying: contractions by libraries, everything else by
// Quotient's own kernel and then by cuDNN where it has one; the host's reference evaluation is the
// last resort, so the list is never empty for operators that have one. The spec must have native
// storage.
std::vector<Program> Lower(const KernelSpec& spec, MathPolicy policy);

// The program that runs on the host; nullopt if there is no reference evaluation.
std::optional<Program> LowerToHost(const KernelSpec& spec);
std::optional<Program> LowerAttentionToHost(const KernelSpec& spec);  // Part of LowerToHost.

// The kinds of kernels. Each returns its programs for a spec, or none if it does not handle the
// spec.
std::vector<Program> LowerConvolution(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerProduct(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerAttention(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerPool(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerNormalization(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerReduction(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerElementwise(const KernelSpec& spec, MathPolicy policy);

// Whether all operands that are present have the same type, one that GPU libraries can multiply,
// and none is empty.
bool IsOfOneFloatType(const KernelSpec& spec);

}  // namespace quotient::kernels::cuda
