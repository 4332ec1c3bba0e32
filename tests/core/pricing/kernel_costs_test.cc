#include "core/pricing/kernel_costs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/pricing/scripted_model.h"

namespace quotient::pricing {
namespace {

using kernels::Operand;

model::TensorType Floats(std::vector<int64_t> dims) {
  return model::StaticType(model::DType::kFloat32, dims);
}

class KernelCostsTest : public ::testing::Test {
 protected:
  // A kernel that computes `op` of a vector.
  int Unary(absl::string_view op) {
    return costs_.IndexOf(op, {}, {Operand{Floats({8})}}, {Floats({8})});
  }
  int Product(bool constant) {
    return costs_.IndexOf("MatMul", {}, {Operand{Floats({2, 8})}, {Floats({8, 4}), constant}},
                          {Floats({2, 4})});
  }

  ScriptedModel model_{
      kernels::PartitionOptions{.threads = 3, .storage = kernels::Storage::kNative}};
  KernelPrices prices_{&model_};
  KernelCosts costs_{&prices_, /*constant_footprint_log2=*/20};
};

TEST_F(KernelCostsTest, SpecsHoldHowTheDeviceRunsAndTheFootprintIfConstantsAreRead) {
  const kernels::KernelSpec with_weights = prices_.Spec(Product(true));
  EXPECT_EQ(with_weights.threads, 3);
  EXPECT_EQ(with_weights.storage, kernels::Storage::kNative);
  EXPECT_EQ(with_weights.constant_footprint_log2, 20);
  EXPECT_EQ(prices_.Spec(Product(false)).constant_footprint_log2, 0);
}

TEST_F(KernelCostsTest, EqualKernelsHaveTheNumberThatTheirPricesHave) {
  const int relu = Unary("Relu");
  EXPECT_NE(Unary("Tanh"), relu);
  EXPECT_EQ(Unary("Relu"), relu);
  KernelCosts other(&prices_, /*constant_footprint_log2=*/0);
  EXPECT_EQ(other.IndexOf("Relu", {}, {Operand{Floats({8})}}, {Floats({8})}), relu);
}

TEST_F(KernelCostsTest, AViewIsNoKernel) {
  EXPECT_EQ(costs_.IndexOf("Flatten", {}, {Operand{Floats({2, 8})}}, {Floats({1, 16})}), -1);
  EXPECT_TRUE(model_.asked().empty());
}

TEST_F(KernelCostsTest, WhatTheDeviceLacksIsOnlyPossibleAsAPartOfTheOriginal) {
  model_.SetPrior("Tanh", 7);
  model_.SetUnsupported("Tanh");
  for (const CostBasis basis : {CostBasis::kKnown, CostBasis::kMeasuredOnly, CostBasis::kPrior}) {
    costs_.SetBasis(basis);
    const int tanh = Unary("Tanh");
    EXPECT_EQ(costs_.CostOf(tanh, false), kImpossible);
    EXPECT_EQ(costs_.CostOf(tanh, true), 7);
  }
}

TEST_F(KernelCostsTest, TheBasisSaysWhetherMeasurementsAndEstimatesCount) {
  model_.SetPrior("Relu", 2);
  model_.SetPrior("Tanh", 3);
  model_.Measure("Relu", 5);
  const int measured = Unary("Relu"), estimated = Unary("Tanh");
  EXPECT_EQ(costs_.CostOf(measured, false), 5);
  EXPECT_EQ(costs_.CostOf(estimated, false), 3);

  costs_.SetBasis(CostBasis::kMeasuredOnly);
  costs_.Read();
  EXPECT_EQ(costs_.CostOf(measured, false), 5);
  EXPECT_EQ(costs_.CostOf(estimated, false), kImpossible);
  EXPECT_EQ(costs_.CostOf(estimated, true), 3);

  costs_.SetBasis(CostBasis::kPrior);
  costs_.Read();
  EXPECT_EQ(costs_.CostOf(measured, false), 2);
  EXPECT_EQ(costs_.CostOf(estimated, false), 3);
}

TEST_F(KernelCostsTest, PricesAreACopyUntilARefreshFindsThemChanged) {
  const int relu = Unary("Relu");
  model_.Measure("Relu", 5);
  costs_.Refresh();
  EXPECT_EQ(costs_.CostOf(relu, false), 1) << "the prices were not updated";
  ASSERT_TRUE(prices_.UpdateOnly());
  EXPECT_EQ(costs_.CostOf(relu, false), 1);
  costs_.Refresh();
  EXPECT_EQ(costs_.CostOf(relu, false), 5);
  const size_t asked = model_.asked().size();
  costs_.SetBasis(CostBasis::kPrior);
  costs_.Refresh();
  EXPECT_EQ(model_.asked().size(), asked) << "prices that stay are not read again";
}

// Kernels of other workspaces are priced without being known here.
TEST_F(KernelCostsTest, KernelsBetweenThoseOfAWorkspaceArePricedWithIt) {
  KernelCosts other(&prices_, /*constant_footprint_log2=*/0);
  other.IndexOf("Abs", {}, {Operand{Floats({8})}}, {Floats({8})});
  const int tanh = Unary("Tanh");
  ASSERT_EQ(tanh, 1);
  model_.Measure("Tanh", 4);
  ASSERT_TRUE(prices_.UpdateOnly());
  costs_.Refresh();
  EXPECT_EQ(costs_.CostOf(tanh, false), 4);
}

}  // namespace
}  // namespace quotient::pricing
