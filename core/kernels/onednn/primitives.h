#pragma once

// The kinds of kernels that oneDNN computes. Each function makes the kernel for a spec, or returns
// null if it does not handle the spec. Fails with UNIMPLEMENTED if oneDNN has no implementation.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::onednn {

using KernelOrStatus = absl::StatusOr<std::unique_ptr<cpu::Kernel>>;

KernelOrStatus MakeConv(const KernelSpec& spec);           // Conv, with epilogue.
KernelOrStatus MakeConvTranspose(const KernelSpec& spec);  // With epilogue.
KernelOrStatus MakeMatMul(const KernelSpec& spec);         // MatMul and Gemm, with epilogue.
KernelOrStatus MakePool(const KernelSpec& spec);           // MaxPool, AveragePool.
KernelOrStatus MakeSoftmax(const KernelSpec& spec);        // Softmax, LogSoftmax.
KernelOrStatus MakeLayerNorm(const KernelSpec& spec);      // LayerNormalization.

// The best kernel for a spec: one of the above, or one of Quotient's own (core/kernels/cpu).
KernelOrStatus MakeKernel(const KernelSpec& spec);

}  // namespace quotient::kernels::onednn
