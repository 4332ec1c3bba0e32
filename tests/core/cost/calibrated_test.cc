#include <gtest/gtest.h>

#include "core/cost/cost_model.h"
#include "core/timing/snapshot.h"

namespace quotient::cost {
namespace {

using kernels::KernelSpec;
using kernels::Operand;

KernelSpec SpecOf(const char* op, const std::vector<std::vector<int64_t>>& inputs,
                  const std::vector<int64_t>& output) {
  const auto type = [](const std::vector<int64_t>& dims) {
    return model::StaticType(model::DType::kFloat32, dims);
  };
  std::vector<Operand> operands;
  for (const std::vector<int64_t>& dims : inputs) operands.push_back({type(dims)});
  return kernels::MakeSpec(op, {}, std::move(operands), {type(output)}, 1, 0);
}

KernelSpec Relu(int64_t n) { return SpecOf("Relu", {{n}}, {n}); }
KernelSpec MatMul(int64_t n) { return SpecOf("MatMul", {{n, n}, {n, n}}, {n, n}); }

class CalibratedTest : public ::testing::Test {
 protected:
  CalibratedTest() {
    auto snapshot = std::make_shared<timing::Snapshot>();
    base_ = NewRecordedCostModel(snapshot, Roof{CpuSheet(), 1});
  }

  void Measured(const KernelSpec& spec, double times_the_prior) {
    graph_.groups.emplace_back().spec = spec;
    const double us = times_the_prior * base_->Prior(spec).us;
    graph_.costs.push_back({us, 0, CostSource::kMeasured, true});
  }
  // What a kernel that nobody measured costs, as a multiple of its prior.
  double Slowdown(const KernelSpec& spec) {
    const auto model = NewCalibratedCostModel(base_.get(), graph_);
    EXPECT_EQ(model->Prior(spec).us, base_->Prior(spec).us);
    EXPECT_EQ(model->Estimate(spec).source, CostSource::kModel);
    return model->Estimate(spec).us / base_->Prior(spec).us;
  }

  std::unique_ptr<CostModel> base_;
  GraphCost graph_;
};

TEST_F(CalibratedTest, NothingKnownNothingCorrected) { EXPECT_EQ(Slowdown(Relu(7)), 1); }

TEST_F(CalibratedTest, WhatWasNotMeasuredIsAsSlowAsTheMedianOfWhatWas) {
  Measured(Relu(100), 2);
  Measured(Relu(200), 3);
  Measured(Relu(300), 50);
  EXPECT_DOUBLE_EQ(Slowdown(Relu(7)), 3);
  EXPECT_DOUBLE_EQ(Slowdown(MatMul(8)), 3);
}

TEST_F(CalibratedTest, AKernelCountsOnce) {
  for (int i = 0; i < 9; ++i) Measured(Relu(100), 50);
  Measured(Relu(200), 2);
  Measured(Relu(300), 3);
  EXPECT_DOUBLE_EQ(Slowdown(Relu(7)), 3);
}

TEST_F(CalibratedTest, ProductsAndOthersAreApartIfThereAreEnough) {
  for (int i = 1; i <= 3; ++i) Measured(Relu(100 * i), 10);
  for (int i = 1; i <= 2; ++i) Measured(MatMul(64 * i), 2);
  EXPECT_DOUBLE_EQ(Slowdown(MatMul(8)), 10);
  Measured(MatMul(512), 2);
  EXPECT_DOUBLE_EQ(Slowdown(MatMul(8)), 2);
  EXPECT_DOUBLE_EQ(Slowdown(Relu(7)), 10);
}

TEST_F(CalibratedTest, NothingIsThoughtFasterThanThePrior) {
  for (int i = 1; i <= 3; ++i) Measured(Relu(100 * i), 0.5);
  EXPECT_DOUBLE_EQ(Slowdown(Relu(7)), 1);
}

}  // namespace
}  // namespace quotient::cost
