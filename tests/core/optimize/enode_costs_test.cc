#include "core/optimize/enode_costs.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/kernels/fusion.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

// Every kernel takes a microsecond; remembers which it was asked about.
class RecordingModel final : public cost::CostModel {
 public:
  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    asked.push_back(spec);
    return {1, 0, cost::CostSource::kModel};
  }
  cost::KernelCost Prior(const kernels::KernelSpec& spec) override { return Estimate(spec); }
  void Request(const kernels::KernelSpec&) override {}
  void Wait(const StopCondition&) override {}
  absl::StatusOr<std::vector<kernels::KernelGroup>> Partition(const model::Graph&) const override {
    return absl::UnimplementedError("not asked for");
  }
  const std::string& fingerprint() const override { return fingerprint_; }
  bool measures() const override { return false; }

  std::vector<kernels::KernelSpec> asked;

 private:
  const std::string fingerprint_ = "recording";
};

// The kernel that a search prices is the one that runs: a square is no general power.
TEST(ENodeCosts, APowIsPricedWithItsExponent) {
  model::Graph graph = testing::MustParse(R"(graph g {
    input x: float32[2,3]
    const two: float32[] = [2]
    y = Pow(x, two)
    output y
  })");
  ASSERT_OK(ops::InferTypes(graph));
  ASSERT_OK_AND_ASSIGN(const domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
  RecordingModel model;
  const ENodeCosts costs(tensors, model, 1, 0);
  ASSERT_EQ(model.asked.size(), 1);
  EXPECT_EQ(model.asked[0].attributes.GetFloat(kernels::kExponentAttribute, 0), 2);
}

}  // namespace
}  // namespace quotient::optimize
