#include "core/kernels/onednn/make_kernel.h"

#include "core/kernels/cpu/make_kernel.h"

namespace quotient::kernels::onednn {
namespace {

constexpr KernelOrStatus (*kMakers[])(const KernelSpec&) = {
    MakeConv, MakeConvTranspose, MakeMatMul, MakePool, MakeSoftmax, MakeLayerNorm,
};

}  // namespace

KernelOrStatus MakeKernel(const KernelSpec& spec) {
  for (const auto make : kMakers) {
    KernelOrStatus kernel = make(spec);
    // If the library does not implement it, one of Quotient's own kernels may.
    if (!kernel.ok() && !absl::IsUnimplemented(kernel.status())) return kernel;
    if (kernel.ok() && *kernel != nullptr) return kernel;
  }
  return cpu::MakeKernel(spec);
}

}  // namespace quotient::kernels::onednn
