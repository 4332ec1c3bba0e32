#include "core/report/describe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::report {
namespace {

using cost::CostSource;

// A graph whose n-th node is a kernel of its own, with these costs; further ones are changes of
// layout.
struct Costed {
  Costed(absl::string_view text, std::vector<cost::KernelCost> costs)
      : graph(testing::MustParse(text)) {
    EXPECT_OK(ops::InferTypes(graph));
    cost.costs = std::move(costs);
    cost.groups.resize(cost.costs.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      cost.groups[n].nodes = {model::NodeId(static_cast<uint32_t>(n))};
    }
  }
  CostedGraph View() const { return {graph, cost}; }

  model::Graph graph;
  cost::GraphCost cost;
};

constexpr char kBefore[] = R"(graph g {
    input x: float32[4]
    a = Relu(x)
    b = Sigmoid(a)
    output b
  })";
constexpr char kAfter[] = R"(graph g {
    input x: float32[4]
    a = Relu(x)
    c = Tanh(a)
    output c
  })";

const NodeCost* RowOf(const Report& report, absl::string_view name) {
  for (const NodeCost& row : report.nodes) {
    if (row.name == name) return &row;
  }
  ADD_FAILURE() << "no row " << name;
  return nullptr;
}

TEST(DescribeNodesTest, EachCostSaysWhetherItWasMeasured) {
  const Costed before(kBefore, {{5, 0.1, CostSource::kMeasured}, {7, 0.2, CostSource::kMeasured}});
  const Costed after(kAfter, {{4, 0, CostSource::kModel}, {0, 0, CostSource::kFree}});
  Report report;
  DescribeNodes(before.View(), after.View(), &report);
  ASSERT_EQ(report.nodes.size(), 3u);
  const NodeCost* const kept = RowOf(report, "a");
  EXPECT_EQ(kept->before_us, 5);
  EXPECT_EQ(kept->before_source, "measured");
  EXPECT_EQ(kept->after_us, 4);
  EXPECT_EQ(kept->after_source, "estimated");
  EXPECT_EQ(kept->spread, 0.1);
  const NodeCost* const gone = RowOf(report, "b");
  EXPECT_EQ(gone->before_source, "measured");
  EXPECT_EQ(gone->after_us, std::nullopt);
  EXPECT_EQ(gone->after_source, "");
  const NodeCost* const made = RowOf(report, "c");
  EXPECT_EQ(made->before_us, std::nullopt);
  EXPECT_EQ(made->after_source, "free");
  EXPECT_FALSE(report.drawn_before[0].estimated);
  EXPECT_TRUE(report.drawn_after[0].estimated);
}

// What changes of layout take is one row.
TEST(DescribeNodesTest, ASumWithAnEstimateIsOne) {
  const Costed before(kBefore, {{5, 0, CostSource::kMeasured},
                                {7, 0, CostSource::kMeasured},
                                {1, 0.1, CostSource::kMeasured},
                                {2, 0.3, CostSource::kMeasured}});
  const Costed after(kBefore, {{5, 0, CostSource::kMeasured},
                               {7, 0, CostSource::kMeasured},
                               {1, 0.1, CostSource::kMeasured},
                               {1, 0, CostSource::kModel}});
  Report report;
  DescribeNodes(before.View(), after.View(), &report);
  const NodeCost* const row = RowOf(report, "(changes of memory layout)");
  EXPECT_EQ(row->before_us, 3);
  EXPECT_EQ(row->before_source, "measured");
  EXPECT_EQ(row->after_us, 2);
  EXPECT_EQ(row->after_source, "estimated");
  EXPECT_EQ(row->spread, 0.3);
}

}  // namespace
}  // namespace quotient::report
