#include "core/optimize/same_kernels.h"

#include <gtest/gtest.h>

#include <initializer_list>

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

// Costs of kernels with these operators; where `measured` has an 'x', the kernel was measured.
cost::GraphCost CostsOf(std::initializer_list<const char*> ops, absl::string_view measured) {
  const auto type = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{8});
  cost::GraphCost costs;
  for (const char* const op : ops) {
    const bool is_measured = measured[costs.costs.size()] == 'x';
    costs.groups.push_back(
        {.spec = kernels::MakeSpec(op, {}, {kernels::Operand{type}}, {type}, 1, 0)});
    costs.costs.push_back(
        {.us = 1, .source = is_measured ? cost::CostSource::kMeasured : cost::CostSource::kModel});
  }
  return costs;
}

TEST(HaveSameEstimates, EachAsOftenWhateverElseIsMeasured) {
  const cost::GraphCost one = CostsOf({"Relu", "Exp"}, "x ");
  EXPECT_TRUE(HaveSameEstimates(one, CostsOf({"Exp", "Abs", "Neg"}, " xx")));
  EXPECT_FALSE(HaveSameEstimates(one, CostsOf({"Exp"}, "x")));
  EXPECT_FALSE(HaveSameEstimates(one, CostsOf({"Exp", "Exp"}, "  ")));
  EXPECT_FALSE(HaveSameEstimates(one, CostsOf({"Relu", "Exp"}, " x")));
}

}  // namespace
}  // namespace quotient::optimize
