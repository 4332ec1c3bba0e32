// The analytic devices: not that their numbers are true, but that they move as hardware does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cost/cost_model.h"
#include "core/cost/roofline.h"
#include "core/cost/work.h"
#include "core/kernels/attention.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::cost {
namespace {

using kernels::KernelSpec;
using kernels::Operand;
using model::DType;
using quotient::testing::HasReason;

Operand Floats(std::vector<int64_t> dims, bool constant = false, DType dtype = DType::kFloat32) {
  return {model::StaticType(dtype, dims), constant};
}

KernelSpec MatMul(int64_t m, int64_t k, int64_t n, DType dtype = DType::kFloat32,
                  int footprint = 28) {
  return kernels::MakeSpec("MatMul", {},
                           {Floats({m, k}, false, dtype), Floats({k, n}, true, dtype)},
                           {model::StaticType(dtype, std::vector<int64_t>{m, n})}, 1, footprint);
}

KernelSpec Conv(int64_t channels, int64_t groups) {
  return kernels::MakeSpec(
      "Conv", {{"group", groups}, {"pads", model::Ints{1, 1, 1, 1}}},
      {Floats({1, channels, 56, 56}), Floats({channels, channels / groups, 3, 3}, true)},
      {model::StaticType(DType::kFloat32, std::vector<int64_t>{1, channels, 56, 56})}, 1, 26);
}

class AnalyticTest : public ::testing::Test {
 protected:
  AnalyticTest()
      : tf32_(*NewAnalyticCostModel("model:h200")),
        strict_(*NewAnalyticCostModel("model:h200-strict32")) {}

  double Us(const KernelSpec& spec) { return tf32_->Estimate(spec).us; }

  std::unique_ptr<CostModel> tf32_, strict_;
};

TEST_F(AnalyticTest, DevicesAreKnownByName) {
  EXPECT_THAT(AnalyticDevices(), ::testing::ElementsAre("model:h200", "model:h200-strict32"));
  EXPECT_THAT(NewAnalyticCostModel("model:abacus"),
              HasReason(Reason::kDeviceNotPresent, ::testing::HasSubstr("model:h200")));
  EXPECT_FALSE(tf32_->measures());
  EXPECT_NE(tf32_->fingerprint(), strict_->fingerprint());
}

// A depthwise Conv fills no tile. On a core it takes about what its bytes take, and a prior that is
// many times too high would keep a search from trying it.
TEST_F(AnalyticTest, OnACoreADepthwiseConvIsNotChargedForTiles) {
  const Roof core{CpuSheet(), 1};
  const KernelSpec depthwise = Conv(64, 64);
  const KernelSpec relu =
      kernels::MakeSpec("Relu", {}, {depthwise.inputs[0]}, {depthwise.outputs[0].type}, 1, 26);
  EXPECT_LT(RooflineUs(depthwise, core), 9 * RooflineUs(relu, core));
  EXPECT_GT(RooflineUs(depthwise, core), RooflineUs(relu, core));
}

TEST_F(AnalyticTest, LargeProductsComeNearThePeakAndNeverAboveIt) {
  const KernelSpec spec = MatMul(8192, 8192, 8192);
  const double flops = 2.0 * 8192 * 8192 * 8192;
  const double share = flops / (Us(spec) * 1e-6) / 494.5e12;
  EXPECT_GT(share, 0.6);
  EXPECT_LT(share, 0.9);
  const double strict_share = flops / (strict_->Estimate(spec).us * 1e-6) / 67e12;
  EXPECT_GT(strict_share, 0.6);
  EXPECT_LT(strict_share, 0.9);
}

TEST_F(AnalyticTest, SmallKernelsAreBoundByTheirLaunch) {
  const double us = Us(MatMul(1, 64, 64));
  EXPECT_GE(us, 2.5);
  EXPECT_LT(us, 4);
}

TEST_F(AnalyticTest, MergingSmallProductsPaysAndMergingLargeOnesDoesNot) {
  EXPECT_LT(Us(MatMul(1, 512, 4096)), 0.5 * 8 * Us(MatMul(1, 512, 512)));
  const double merged = Us(MatMul(4096, 4096, 8192)), apart = 2 * Us(MatMul(4096, 4096, 4096));
  EXPECT_NEAR(merged / apart, 1, 0.05);
}

TEST_F(AnalyticTest, VectorTimesMatrixIsBoundByTheWeights) {
  const double weight_us = 8192.0 * 8192 * 4 / 4.3e12 * 1e6;
  EXPECT_NEAR(Us(MatMul(1, 8192, 8192)), weight_us, 0.2 * weight_us);
  // In a model whose weights stay in the cache, they come faster.
  EXPECT_LT(Us(MatMul(1, 2048, 2048, DType::kFloat32, 24)),
            Us(MatMul(1, 2048, 2048, DType::kFloat32, 28)));
}

TEST_F(AnalyticTest, OneTileMoreThanProcessorsTakesAnotherRound) {
  // 132 tiles of 128 by 64 along n, and one more; k large enough for compute to decide, and too
  // many rows for smaller tiles to fill the gap.
  const double full = Us(MatMul(256, 8192, 132 * 128)), more = Us(MatMul(256, 8192, 132 * 128 + 8));
  EXPECT_GT(more / full, 1.1);
}

TEST_F(AnalyticTest, HalfPrecisionIsFaster) {
  EXPECT_LT(Us(MatMul(4096, 4096, 4096, DType::kFloat16)), 0.6 * Us(MatMul(4096, 4096, 4096)));
}

TEST_F(AnalyticTest, GroupsTakeLessWorkButUseItWorse) {
  const double dense = Us(Conv(256, 1)), grouped = Us(Conv(256, 32));
  EXPECT_LT(WorkOf(Conv(256, 32)).product_flops() * 31, WorkOf(Conv(256, 1)).product_flops());
  EXPECT_GT(grouped, dense / 32);
}

TEST_F(AnalyticTest, MoreWorkNeverTakesLessTime) {
  for (int64_t n = 1; n < 5000; n = n * 3 / 2 + 1) {
    EXPECT_LE(Us(MatMul(n, 300, 500)), Us(MatMul(n + n / 2 + 1, 300, 500)) * (1 + 1e-9)) << n;
    EXPECT_LE(Us(MatMul(300, n, 500)), Us(MatMul(300, n + n / 2 + 1, 500)) * (1 + 1e-9)) << n;
  }
}

TEST(WorkTest, ProductsAreCounted) {
  const Work conv = WorkOf(Conv(64, 1));
  EXPECT_DOUBLE_EQ(conv.product_flops(), 2.0 * 56 * 56 * 64 * 64 * 9);
  EXPECT_DOUBLE_EQ(conv.constant_bytes, 64 * 64 * 9 * 4);
  EXPECT_DOUBLE_EQ(conv.activation_bytes, 2.0 * 64 * 56 * 56 * 4);
  const KernelSpec batched = kernels::MakeSpec(
      "MatMul", {}, {Floats({2, 5, 3, 4}), Floats({5, 4, 6})},
      {model::StaticType(DType::kFloat32, std::vector<int64_t>{2, 5, 3, 6})}, 1, 0);
  EXPECT_DOUBLE_EQ(WorkOf(batched).product_flops(), 2.0 * 2 * 5 * 3 * 4 * 6);
  const KernelSpec gemm =
      kernels::MakeSpec("Gemm", {{"transA", int64_t{1}}}, {Floats({7, 3}), Floats({7, 5}, true)},
                        {model::StaticType(DType::kFloat32, std::vector<int64_t>{3, 5})}, 1, 0);
  EXPECT_DOUBLE_EQ(WorkOf(gemm).product_flops(), 2.0 * 3 * 5 * 7);
  // Queries and values with heads behind the positions, keys with heads in front.
  const KernelSpec attention = kernels::MakeSpec(
      kernels::kAttentionOp,
      {{"q_perm", model::Ints{0, 2, 1, 3}}, {"v_perm", model::Ints{0, 2, 1, 3}}},
      {Floats({2, 5, 3, 4}), Floats({2, 3, 4, 7}), Floats({2, 7, 3, 8})},
      {model::StaticType(DType::kFloat32, std::vector<int64_t>{2, 3, 5, 8})}, 1, 0);
  EXPECT_DOUBLE_EQ(WorkOf(attention).product_flops(), 2.0 * 2 * 3 * 5 * 7 * (4 + 8));
  // What frames are multiplied by is no operand.
  const KernelSpec stft = kernels::MakeSpec(
      "STFT", {{"frame_step", int64_t{2}}, {"frame_length", int64_t{5}}}, {Floats({2, 9, 1})},
      {model::StaticType(DType::kFloat32, std::vector<int64_t>{2, 3, 3, 2})}, 1, 0);
  EXPECT_DOUBLE_EQ(WorkOf(stft).product_flops(), 2.0 * 2 * 3 * 6 * 5);
}

TEST(WorkTest, GatherReadsOnlyTheRowsItPicks) {
  const KernelSpec gather = kernels::MakeSpec(
      "Gather", {},
      {Floats({30000, 768}, true), {model::StaticType(DType::kInt64, std::vector<int64_t>{128})}},
      {model::StaticType(DType::kFloat32, std::vector<int64_t>{128, 768})}, 1, 28);
  EXPECT_DOUBLE_EQ(WorkOf(gather).constant_bytes, 128 * 768 * 4);
}

TEST(PredictTest, SumsKernelsAndViewsAreFree) {
  model::Graph graph = quotient::testing::MustParse(R"(
    graph g {
      input x: float32[1,8,16,16]
      const w: float32[8,8,3,3] = random(1)
      c = Conv(x, w) {pads=[1,1,1,1]}
      r = Relu(c)
      p = GlobalAveragePool(r)
      y = Reshape(p) {shape=[1,8]}
      output y
    })");
  ASSERT_OK(ops::InferTypes(graph));
  const auto model = *NewAnalyticCostModel("model:h200");
  ASSERT_OK_AND_ASSIGN(const GraphCost cost, PredictGraph(graph, *model, {}));
  ASSERT_EQ(cost.groups.size(), 3u);
  ASSERT_EQ(cost.costs.size(), 3u);
  EXPECT_EQ(CostSourceName(cost.costs[0].source), "estimated");
  EXPECT_EQ(CostSourceName(cost.costs[2].source), "free");
  EXPECT_EQ(cost.costs[2].us, 0);
  EXPECT_DOUBLE_EQ(cost.total_us, cost.costs[0].us + cost.costs[1].us);
}

}  // namespace
}  // namespace quotient::cost
