#pragma once

// MakeKernel: the CPU backend's kernel for a spec.

#include <memory>

#include "absl/status/statusor.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::onednn {

using KernelOrStatus = absl::StatusOr<std::unique_ptr<cpu::Kernel>>;

// The best kernel for a spec: one of oneDNN's, or one of Quotient's own (core/kernels/cpu).
KernelOrStatus MakeKernel(const KernelSpec& spec);

// --- One function for each kind of kernel that oneDNN computes. It returns null if it does not
// handle the spec, and fails with UNIMPLEMENTED if oneDNN has no implementation.

KernelOrStatus MakeConv(const KernelSpec& spec);           // Conv, with epilogue.
KernelOrStatus MakeConvTranspose(const KernelSpec& spec);  // With epilogue.
KernelOrStatus MakeMatMul(const KernelSpec& spec);         // MatMul and Gemm, with epilogue.
KernelOrStatus MakePool(const KernelSpec& spec);           // MaxPool, AveragePool.
KernelOrStatus MakeSoftmax(const KernelSpec& spec);        // Softmax, LogSoftmax.
KernelOrStatus MakeLayerNorm(const KernelSpec& spec);      // LayerNormalization.

}  // namespace quotient::kernels::onednn
