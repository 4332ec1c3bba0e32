#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/cost_model.h"
#include "core/ops/infer_graph.h"
#include "core/timing/service.h"
#include "tests/support/clock_probe.h"
#include "tests/support/fake_backend.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::cost {
namespace {

using kernels::KernelSpec;

KernelSpec Relu(int64_t elements) {
  const auto type = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{elements});
  return kernels::MakeSpec("Relu", {}, {kernels::Operand{type}}, {type}, 1, 0);
}

class MeasuredTest : public ::testing::Test {
 protected:
  MeasuredTest() {
    backend_ = NewFakeBackend(&clock_, {.run_us = [](const KernelSpec& spec, int) {
      if (spec.outputs[0].type.elements() == 13) {
        return absl::StatusOr<double>(absl::UnimplementedError("13"));
      }
      return absl::StatusOr<double>(kernels::fake::FakeCostUs(spec));
    }});
    service_ = timing::NewTimingService(
        backend_.get(), store_.get(), &lane_,
        {.make_probe = [this] { return std::make_unique<testing::ClockProbe>(&clock_); }});
    model_ = NewMeasuredCostModel(backend_.get(), service_.get(), Roof{CpuSheet(), 1});
  }

  kernels::fake::FakeClock clock_;
  std::unique_ptr<kernels::Backend> backend_;
  timing::Lane lane_;
  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  std::unique_ptr<timing::TimingService> service_;
  std::unique_ptr<CostModel> model_;
};

TEST_F(MeasuredTest, APriorUntilTheMeasurementIsThere) {
  const KernelSpec spec = Relu(100'000);
  EXPECT_EQ(model_->Estimate(spec).source, CostSource::kModel);
  EXPECT_FALSE(model_->Estimate(spec).settled);
  EXPECT_GT(model_->Estimate(spec).us, 0);
  model_->Wait({});  // nothing was asked for
  EXPECT_EQ(model_->Estimate(spec).source, CostSource::kModel);
  EXPECT_EQ(model_->measurements(), 0);
  model_->Request(spec);
  model_->Wait({});
  EXPECT_EQ(model_->measurements(), 1);
  EXPECT_EQ(model_->Estimate(spec).source, CostSource::kMeasured);
  EXPECT_TRUE(model_->Estimate(spec).settled);
  EXPECT_NEAR(model_->Estimate(spec).us, kernels::fake::FakeCostUs(spec), 0.01);
}

TEST_F(MeasuredTest, WhatCannotBeMeasuredIsModelled) {
  model_->Request(Relu(13));
  model_->Wait({});
  EXPECT_EQ(model_->Estimate(Relu(13)).source, CostSource::kModel);
  EXPECT_TRUE(model_->Estimate(Relu(13)).settled);
  EXPECT_GT(model_->Estimate(Relu(13)).us, 0);
}

TEST_F(MeasuredTest, ANoisyTimeCountsOnlyIfItsSamplesAgree) {
  const std::string device = timing::StoredFingerprint(backend_->fingerprint());
  for (const double spread : {0.9, 1.1}) {
    const KernelSpec spec = Relu(static_cast<int64_t>(1000 * spread));
    ASSERT_OK(store_->Add(kernels::KernelKey(spec), device,
                          {.state = timing::TimingState::kNoisy,
                           .min_us = 500,
                           .q25_us = 500 * (1 + spread),
                           .median_us = 1500,
                           .relative_spread = spread}));
    const bool agree = spread < 1;
    const KernelCost cost = model_->Estimate(spec);
    EXPECT_EQ(cost.source, agree ? CostSource::kMeasured : CostSource::kModel);
    EXPECT_EQ(cost.us, agree ? 500 : model_->Prior(spec).us);
    EXPECT_TRUE(cost.settled);
  }
}

TEST_F(MeasuredTest, FreeKernelsAreNeitherMeasuredNorModelled) {
  KernelSpec spec = Relu(100);
  spec.free = true;
  model_->Request(spec);
  model_->Wait({});
  EXPECT_EQ(model_->Estimate(spec).source, CostSource::kFree);
  EXPECT_EQ(model_->Estimate(spec).us, 0);
  EXPECT_EQ(service_->measurements(), 0);
}

TEST_F(MeasuredTest, PredictionMeasuresEveryKernelOnce) {
  model::Graph graph = quotient::testing::MustParse(R"(
    graph g {
      input x: float32[1,8,16,16]
      const w: float32[8,8,3,3] = random(1)
      const v: float32[8,8,3,3] = random(2)
      a = Conv(x, w) {pads=[1,1,1,1]}
      b = Conv(a, v) {pads=[1,1,1,1]}
      c = Conv(b, w) {pads=[1,1,1,1]}
      output c
    })");
  ASSERT_OK(ops::InferTypes(graph));
  ASSERT_OK_AND_ASSIGN(const GraphCost cost, PredictGraph(graph, *model_, {}));
  EXPECT_EQ(cost.groups.size(), 3u);
  EXPECT_EQ(service_->measurements(), 1);  // one spec, three times
  EXPECT_EQ(cost.costs[2].source, CostSource::kMeasured);
  EXPECT_NEAR(cost.total_us, 3 * kernels::fake::FakeCostUs(cost.groups[0].spec), 0.03);
}

}  // namespace
}  // namespace quotient::cost
