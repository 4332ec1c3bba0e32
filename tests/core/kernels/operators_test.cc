// The CPU backend has decided on every operator of the table.

#include <gtest/gtest.h>

#include <typeinfo>

#include "absl/strings/str_cat.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/ops/op.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/core/kernels/operator_decisions.h"
#include "tests/support/status_matchers.h"

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

TEST(OperatorsTest, FunctionsThatFuseBehindProductsAreOneKernelWithThem) {
  int fused = 0;
  for (const ops::OpDef* op : ops::AllOps()) {
    if (op->function == ops::UnaryFunction::kNone || op->fusion != ops::Fusion::kBehind) continue;
    SCOPED_TRACE(op->name);
    const model::Graph graph = GraphOf(
        {op->name, absl::StrCat("input x: float32[3,4]\nconst w: float32[4,5] = random(1)\n",
                                "m = MatMul(x, w)\ny = ", op->name, "(m)\noutput y\n")});
    ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, {}));
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_TRUE(HasKernelOfItsOwn(groups[0].spec));
    ++fused;
  }
  EXPECT_GT(fused, 10);
}

}  // namespace
}  // namespace quotient::kernels::onednn
