#include "core/pricing/epilogue_share.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/status_matchers.h"

namespace quotient::pricing {
namespace {

using kernels::Operand;

model::TensorType Floats(int64_t rows, int64_t columns) {
  return {model::DType::kFloat32, {model::Dim(rows), model::Dim(columns)}};
}

kernels::KernelSpec Spec(absl::string_view op, std::vector<Operand> inputs, model::TensorType out) {
  return kernels::MakeSpec(op, {}, std::move(inputs), {std::move(out)}, 1, 0);
}

TEST(EpilogueShare, WhatIsAtHandCostsNothingAndTheRestMustBeRead) {
  ASSERT_OK_AND_ASSIGN(const auto model, cost::NewAnalyticCostModel("model:h200"));
  const model::TensorType big = Floats(4096, 4096);
  const kernels::KernelSpec tanh = Spec("Tanh", {{big}}, big);
  const kernels::KernelSpec relu = Spec("Relu", {{big}}, big);
  EXPECT_NEAR(EpilogueShare(tanh, {.op = "Relu"}, relu, *model), 0, 0.05);
  // Reads one matrix where alone it would read two and write one.
  const kernels::KernelSpec add = Spec("Add", {{big}, {big}}, big);
  EXPECT_NEAR(EpilogueShare(tanh, {.op = "Add", .operands = {{big}}}, add, *model), 1.0 / 3, 0.05);
}

TEST(EpilogueShare, OfWhatIsFreeNothingRemains) {
  ASSERT_OK_AND_ASSIGN(const auto model, cost::NewAnalyticCostModel("model:h200"));
  kernels::KernelSpec free = Spec("Relu", {{Floats(2, 2)}}, Floats(2, 2));
  free.free = true;
  EXPECT_EQ(EpilogueShare(free, {.op = "Relu"}, free, *model), 0);
}

}  // namespace
}  // namespace quotient::pricing
