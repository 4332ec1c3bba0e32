// What is made of findings, regions and times. Whether the findings themselves are true is tested
// with ONNX Runtime (tests/core/optimize/explainer_test).

#include "core/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/core/explain/run_fixture.h"

namespace quotient::explain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

kernels::Operand Of(std::vector<int64_t> dims, bool constant = false) {
  return {.type = model::StaticType(model::DType::kFloat32, dims), .constant = constant};
}

// Two places where a Conv is followed by a factor that is the first operand.
class ExplainTest : public ::testing::Test {
 protected:
  report::Explanation Explained(std::vector<TriedGraph> tried = {},
                                const std::optional<report::Peak>& peak = std::nullopt) const {
    return Explain({graph_, graph_, cost_}, nullptr, tried, peak);
  }

  // A graph in which a rule rewrote the region around this node.
  static TriedGraph Rewriting(const std::string& node, double saved_us, bool is_result) {
    report::RegionGain region = {.before = {{"Conv", 1, 20}},
                                 .after = {{"Conv", 1, 20 - saved_us}}};
    region.sites = {node};
    region.nodes = {{node}};
    return {.gains = {.by_rules = {{.rules = {"conv-scale"}, .regions = {region}}}},
            .journal = {{.rule = "conv-scale"}, {.rule = "mul-one"}, {.rule = "mul-one"}},
            .is_result = is_result};
  }

  const model::Graph graph_ = GraphOf(R"(
    input x: float32[1,16,8,8]
    const w: float32[16,16,1,1] = random(1)
    const k: float32[16,1,1] = random(2)
    a = Conv(x, w)
    b = Mul(k, a)
    c = Conv(b, w)
    d = Mul(k, c)
    output d)");
  const std::vector<kernels::Operand> conv_ = {Of({1, 16, 8, 8}), Of({16, 16, 1, 1}, true)};
  const std::vector<kernels::Operand> mul_ = {Of({16, 1, 1}, true), Of({1, 16, 8, 8})};
  const std::vector<kernels::Operand> image_ = {Of({1, 16, 8, 8})};
  const cost::GraphCost cost_ =
      CostOf(graph_, {{"ort:com.microsoft.nchwc:Conv", {"a"}, 40, conv_, image_},
                      {"ort::Mul", {"b"}, 5, mul_, image_},
                      {"ort:com.microsoft.nchwc:Conv", {"c"}, 40, conv_, image_},
                      {"ort::Mul", {"d"}, 5, mul_, image_}});
};

TEST_F(ExplainTest, PlacesThatAreAlikeAreOneRow) {
  const report::Explanation explanation = Explained();
  ASSERT_EQ(explanation.missed.size(), 1u);
  const report::MissedFusion& row = explanation.missed[0];
  EXPECT_EQ(row.what, "Mul behind Conv");
  EXPECT_EQ(row.reason, "operand_order");
  EXPECT_THAT(row.sites, ElementsAre("b", "d"));
  EXPECT_EQ(row.us, 10);
  EXPECT_EQ(row.done.remedy, report::Remedy::kNone);
  EXPECT_THAT(explanation.fused, IsEmpty());
  EXPECT_EQ(explanation.original.us, 90);
  EXPECT_EQ(explanation.original.products_us, 80);
  EXPECT_EQ(explanation.original.missed_us, 10);
}

TEST_F(ExplainTest, TheResultCountsBeforeWhatWasTried) {
  const report::Explanation explanation =
      Explained({Rewriting("b", 9, false), Rewriting("b", 4, true), Rewriting("d", -1, false)});
  ASSERT_EQ(explanation.missed.size(), 2u);
  const report::WhatWasDone& first = explanation.missed[0].done;
  const report::WhatWasDone& second = explanation.missed[1].done;
  const report::WhatWasDone& rewritten =
      first.remedy == report::Remedy::kRewritten ? first : second;
  const report::WhatWasDone& tried = first.remedy == report::Remedy::kRewritten ? second : first;
  EXPECT_EQ(rewritten.saved_us, 4);
  EXPECT_THAT(rewritten.rules, ElementsAre("conv-scale"));
  EXPECT_EQ(tried.remedy, report::Remedy::kTried);
  EXPECT_EQ(tried.saved_us, -1);
}

TEST_F(ExplainTest, RulesThatChangeNoKernelAreMadeByTheRuntime) {
  const report::Explanation explanation = Explained({Rewriting("b", 4, true)});
  ASSERT_EQ(explanation.by_runtime.size(), 1u);
  EXPECT_EQ(explanation.by_runtime[0].rule, "mul-one");
  EXPECT_EQ(explanation.by_runtime[0].places, 2);
}

// A Conv does 2 x 16 x 16 x 64 operations: 32768.
TEST_F(ExplainTest, KernelsAreComparedWithThePeak) {
  const report::Peak peak = {3276.8, {{1 << 20, 1e6}}, 0.5};
  const report::Explanation explanation = Explained({}, peak);
  ASSERT_EQ(explanation.below_peak.size(), 2u);
  const report::KernelsBelowPeak& convs = explanation.below_peak[0];
  EXPECT_EQ(convs.places, 2);
  EXPECT_EQ(convs.us, 80);
  EXPECT_DOUBLE_EQ(convs.at_peak_us, 20);
  EXPECT_EQ(convs.bound, "arithmetic");
  EXPECT_EQ(explanation.below_peak[1].bound, "start");
  EXPECT_DOUBLE_EQ(explanation.original.products_at_peak_us, 20);
  EXPECT_THAT(Explained().below_peak, IsEmpty());
}

// No share of the peak is above one.
TEST_F(ExplainTest, AKernelThatIsFasterThanTheProbesIsThePeak) {
  const report::Peak peak = {100, {{1 << 20, 1e6}}, 0.5};
  const report::Explanation explanation = Explained({}, peak);
  EXPECT_DOUBLE_EQ(explanation.peak->operations_per_us, 32768.0 / 40);
  EXPECT_DOUBLE_EQ(explanation.original.products_at_peak_us, 80);
}

}  // namespace
}  // namespace quotient::explain
