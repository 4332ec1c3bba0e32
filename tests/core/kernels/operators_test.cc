// The CPU backend has decided on every operator of the table.

#include <gtest/gtest.h>

#include <typeinfo>

#include "core/kernels/cpu/kernels.h"
#include "core/kernels/onednn/primitives.h"
#include "tests/core/kernels/operator_decisions.h"

namespace quotient::kernels::onednn {
namespace {

bool HasKernelOfItsOwn(const KernelSpec& spec) {
  const KernelOrStatus kernel = MakeKernel(spec);
  if (!kernel.ok()) return false;
  const cpu::Kernel& made = **kernel;
  const std::unique_ptr<cpu::Kernel> reference = cpu::MakeReferenceKernel(spec);
  if (reference == nullptr) return true;
  const cpu::Kernel& evaluation = *reference;
  return typeid(made) != typeid(evaluation);
}

TEST(OperatorsTest, EachHasAKernelOrAReasonToHaveNone) {
  ExpectEveryOperatorIsDecided("core/kernels/onednn/left_to_reference.txt", {}, HasKernelOfItsOwn);
}

}  // namespace
}  // namespace quotient::kernels::onednn
