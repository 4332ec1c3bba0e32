#include "core/kernels/cpu/make_kernel.h"

#include "absl/strings/str_cat.h"
#include "core/kernels/cpu/kernel.h"

namespace quotient::kernels::cpu {
namespace {

// In order of preference.
constexpr std::unique_ptr<Kernel> (*kMakers[])(const KernelSpec&) = {
    MakeChainKernel,   MakeCopyKernel,   MakeGatherKernel, MakeReduceKernel,   MakeNormalizeKernel,
    MakeSoftmaxKernel, MakeResizeKernel, MakeTypedKernel,  MakeQuantizeKernel, MakeReferenceKernel,
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelSpec& spec) {
  for (const auto make : kMakers) {
    if (std::unique_ptr<Kernel> kernel = make(spec)) return kernel;
  }
  return absl::UnimplementedError(absl::StrCat("no kernel for ", KernelKey(spec)));
}

}  // namespace quotient::kernels::cpu
