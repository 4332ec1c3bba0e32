#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/cost_model.h"
#include "core/cost/roofline.h"
#include "core/ops/infer_graph.h"
#include "core/timing/snapshot.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::cost {
namespace {

using kernels::KernelSpec;
using timing::Snapshot;
using timing::TimingState;

KernelSpec Relu(int64_t elements) {
  const auto type = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{elements});
  return kernels::MakeSpec("Relu", {}, {kernels::Operand{type}}, {type}, 2, 0);
}

const Roof kRoof = {CpuSheet(), 2};

std::unique_ptr<CostModel> ModelOf(const Snapshot& snapshot) {
  return NewRecordedCostModel(std::make_shared<Snapshot>(snapshot), kRoof);
}

Snapshot OfCpu() {
  Snapshot snapshot;
  snapshot.device = "cpu";
  snapshot.partition.threads = 2;
  snapshot.fingerprint = "a core";
  snapshot.timings[KernelKey(Relu(100))] = {TimingState::kOk, 4, 5, 6, 0.25, 9};
  snapshot.timings[KernelKey(Relu(200))] = {TimingState::kNoisy, 7, 7, 7, 0, 1};
  return snapshot;
}

TEST(RecordedTest, KernelsCostWhatWasMeasured) {
  const auto model = ModelOf(OfCpu());
  const KernelCost cost = model->Estimate(Relu(100));
  EXPECT_EQ(cost.us, 4);
  EXPECT_EQ(cost.spread, 0.25);
  EXPECT_EQ(cost.source, CostSource::kMeasured);
  EXPECT_TRUE(cost.settled);
  EXPECT_EQ(model->Estimate(Relu(200)).us, 7);
  EXPECT_EQ(model->fingerprint(), "a core");
}

// A time that one sample of many shows is luck.
TEST(RecordedTest, ANoisyTimeOfWidelyDifferentSamplesIsNoMeasurement) {
  Snapshot snapshot = OfCpu();
  snapshot.timings[KernelKey(Relu(200))] = {TimingState::kNoisy, 7, 15, 20, 15.0 / 7 - 1, 0};
  const auto model = ModelOf(snapshot);
  EXPECT_EQ(model->Estimate(Relu(200)).us, model->Prior(Relu(200)).us);
  EXPECT_EQ(model->Estimate(Relu(200)).source, CostSource::kModel);
  EXPECT_TRUE(model->Estimate(Relu(200)).settled);
  EXPECT_FALSE(model->Estimate(Relu(200)).unsupported);
}

TEST(RecordedTest, OthersCostWhatIsAssumedAndNobodyAsksForThem) {
  const auto model = ModelOf(OfCpu());
  model->Request(Relu(300));
  model->Wait({});
  const KernelCost cost = model->Estimate(Relu(300));
  EXPECT_EQ(cost.us, RooflineUs(Relu(300), kRoof));
  EXPECT_EQ(cost.source, CostSource::kModel);
  EXPECT_TRUE(cost.settled);
  EXPECT_EQ(model->Prior(Relu(100)).us, RooflineUs(Relu(100), kRoof));
  EXPECT_EQ(model->measurements(), 0);
  EXPECT_FALSE(model->measures());
}

// Its cost is no more than a number to go on with where the original needs it.
TEST(RecordedTest, WhatTheDeviceCannotRunIsKnown) {
  Snapshot snapshot = OfCpu();
  snapshot.timings[KernelKey(Relu(300))] = {TimingState::kUnsupported};
  const auto model = ModelOf(snapshot);
  EXPECT_TRUE(model->Estimate(Relu(300)).unsupported);
  EXPECT_EQ(model->Estimate(Relu(300)).source, CostSource::kModel);
  EXPECT_GT(model->Estimate(Relu(300)).us, 0);
  EXPECT_FALSE(model->Estimate(Relu(100)).unsupported);
  EXPECT_FALSE(model->Estimate(Relu(400)).unsupported);
}

TEST(RecordedTest, FreeKernelsCostNothing) {
  KernelSpec spec = Relu(100);
  spec.free = true;
  EXPECT_EQ(ModelOf(OfCpu())->Estimate(spec).source, CostSource::kFree);
}

TEST(RecordedTest, GraphsAreCutIntoKernelsAsOnTheDevice) {
  model::Graph graph = quotient::testing::MustParse(R"(
    graph g {
      input x: float32[1,8,16,16]
      const w: float32[8,8,3,3] = random(1)
      y = Conv(x, w) {pads=[1,1,1,1]}
      output y
    })");
  ASSERT_OK(ops::InferTypes(graph));
  Snapshot snapshot = OfCpu();
  for (const bool channels_last : {false, true}) {
    snapshot.partition.channels_last = channels_last;
    ASSERT_OK_AND_ASSIGN(const GraphCost cost, PredictGraph(graph, *ModelOf(snapshot), {}));
    ASSERT_FALSE(cost.groups.empty());
    EXPECT_EQ(cost.groups[0].spec.threads, 2);
    EXPECT_EQ(cost.groups[0].spec.inputs[0].layout == kernels::Layout::kChannelsLast,
              channels_last);
  }
}

}  // namespace
}  // namespace quotient::cost
