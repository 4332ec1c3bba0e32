#include "core/optimize/same_kernels.h"

#include <gtest/gtest.h>

#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

bool Same(absl::string_view a, absl::string_view b) {
  const auto model = cost::NewAnalyticCostModel("model:h200");
  EXPECT_OK(model.status());
  model::Graph graphs[2];
  cost::GraphCost costs[2];
  for (int i = 0; i < 2; ++i) {
    graphs[i] = testing::MustParse(i == 0 ? a : b);
    EXPECT_OK(ops::InferTypes(graphs[i]));
    const auto cost = cost::PredictGraph(graphs[i], **model, {});
    EXPECT_OK(cost.status());
    costs[i] = *cost;
  }
  return HaveSameKernels({graphs[0], costs[0]}, {graphs[1], costs[1]});
}

constexpr char kProducts[] = R"(graph g {
  input x: float32[8,8]
  const v: float32[8,8] = random(1)
  const w: float32[8,8] = random(2)
  a = MatMul(x, v)
  b = MatMul(a, w)
  output b })";

TEST(SameKernels, InWhateverOrder) {
  EXPECT_TRUE(Same(kProducts, kProducts));
  EXPECT_TRUE(Same(kProducts, R"(graph g {
    input x: float32[8,8]
    const v: float32[8,8] = random(1)
    const w: float32[8,8] = random(2)
    a = MatMul(x, w)
    b = MatMul(a, v)
    output b })"));
}

TEST(SameKernels, ViewsCostNothing) {
  EXPECT_TRUE(Same(kProducts, R"(graph g {
    input x: float32[8,8]
    const v: float32[8,8] = random(1)
    const w: float32[8,8] = random(2)
    const s: int64[3] = [2, 4, 8]
    const t: int64[2] = [8, 8]
    a = MatMul(x, v)
    r = Reshape(a, s)
    q = Reshape(r, t)
    b = MatMul(q, w)
    output b })"));
}

TEST(SameKernels, NotWithOtherConstants) {
  EXPECT_FALSE(Same(kProducts, R"(graph g {
    input x: float32[8,8]
    const v: float32[8,8] = random(1)
    a = MatMul(x, v)
    b = MatMul(a, v)
    output b })"));
}

TEST(SameKernels, NotWithOtherKernels) {
  EXPECT_FALSE(Same(kProducts, R"(graph g {
    input x: float32[8,8]
    const v: float32[8,8] = random(1)
    a = MatMul(x, v)
    b = Softmax(a)
    output b })"));
}

}  // namespace
}  // namespace quotient::optimize
