#pragma once

// The kinds of Quotient's own kernels. Each function makes the kernel for a spec, or returns null
// if it does not handle the spec.

#include <memory>

#include "core/kernels/cpu/kernel.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cpu {

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
// Resize to the nearest neighbour, or linearly along at most two axes.
std::unique_ptr<Kernel> MakeResizeKernel(const KernelSpec& spec);
// Where, comparisons, logic, Cast, IsInf, IsNaN and integer arithmetic.
std::unique_ptr<Kernel> MakeTypedKernel(const KernelSpec& spec);
// The reference evaluation of every other operator in the operator table.
std::unique_ptr<Kernel> MakeReferenceKernel(const KernelSpec& spec);

}  // namespace quotient::kernels::cpu
