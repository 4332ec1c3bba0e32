#pragma once

// MakeKernel: Quotient's own kernel for a spec.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cpu {

// One of Quotient's own kernels for a spec: fused element-wise kernels, copies, reductions and
// others, or the operator's reference evaluation, which is slow but correct. Fails with
// UNIMPLEMENTED if there is none.
absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelSpec& spec);

// --- One function for each kind of kernel. It returns null if it does not handle the spec.

// A chain of element-wise floating-point nodes (core/kernels/fusion.h), computed in blocks.
std::unique_ptr<Kernel> MakeChainKernel(const KernelSpec& spec);
// Transpose, layout changes, Slice, Split, Concat, Expand, Tile, Pad with a constant, and views
// that are not free.
std::unique_ptr<Kernel> MakeCopyKernel(const KernelSpec& spec);
std::unique_ptr<Kernel> MakeGatherKernel(const KernelSpec& spec);
// ReduceSum, ReduceMean, ReduceMax, GlobalAveragePool, GlobalMaxPool.
std::unique_ptr<Kernel> MakeReduceKernel(const KernelSpec& spec);
// InstanceNormalization.
std::unique_ptr<Kernel> MakeNormalizeKernel(const KernelSpec& spec);
// Softmax and LogSoftmax, best along an axis that is not the last one in memory.
std::unique_ptr<Kernel> MakeSoftmaxKernel(const KernelSpec& spec);
// Resize to the nearest neighbour, or linearly along at most two axes.
std::unique_ptr<Kernel> MakeResizeKernel(const KernelSpec& spec);
// Where, comparisons, logic, Cast, IsInf, IsNaN and integer arithmetic.
std::unique_ptr<Kernel> MakeTypedKernel(const KernelSpec& spec);
// QuantizeLinear and DequantizeLinear of float32.
std::unique_ptr<Kernel> MakeQuantizeKernel(const KernelSpec& spec);
// The reference evaluation of every other operator in the operator table.
std::unique_ptr<Kernel> MakeReferenceKernel(const KernelSpec& spec);

}  // namespace quotient::kernels::cpu
