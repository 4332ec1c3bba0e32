#pragma once

// Lower: the ways in which a GPU may run a kernel. Pure, without a GPU: which of them the libraries
// really have, and which is fastest, is found out on the device.

#include <optional>
#include <vector>

#include "core/kernels/cuda/program.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

// In the order in which they are worth trying: contractions by libraries, everything else by our
// own kernel and then by cuDNN where that has one. Never empty for operators that have a reference
// evaluation: at the end the host computes it. The spec has native storage.
std::vector<Program> Lower(const KernelSpec& spec, MathPolicy policy);

// The host computes it; nothing where there is no reference evaluation.
std::optional<Program> LowerToHost(const KernelSpec& spec);
std::optional<Program> LowerAttentionToHost(const KernelSpec& spec);  // a part of it

// The kinds, each with the programs that it has for a spec; none where it is not concerned.
std::vector<Program> LowerConvolution(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerProduct(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerAttention(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerPool(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerNormalization(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerReduction(const KernelSpec& spec, MathPolicy policy);
std::vector<Program> LowerElementwise(const KernelSpec& spec, MathPolicy policy);

// Whether all operands that are there are of one of the types that GPU libraries multiply in, the
// same one, and none is empty.
bool IsOfOneFloatType(const KernelSpec& spec);

}  // namespace quotient::kernels::cuda
