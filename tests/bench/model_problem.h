#pragma once

// The extraction problem of a model: its e-graph, saturated with all rules, and what e-nodes cost
// on a device that is a model (measured costs would differ from run to run).

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/model_files.h"
#include "core/cost/cost_model.h"
#include "core/domain/tensor_egraph.h"
#include "core/extract/extract.h"
#include "core/pricing/enode_costs.h"
#include "core/pricing/kernel_prices.h"
#include "core/rules/rule_set.h"

namespace quotient {

class ModelProblem {
 public:
  // Makes the problem of an ONNX file. `device` is what NewAnalyticCostModel takes; the e-graph
  // stops growing at `max_nodes`.
  static absl::StatusOr<std::unique_ptr<ModelProblem>> Make(const std::string& path,
                                                            const std::string& device,
                                                            int64_t max_nodes);

  extract::Problem problem() const { return {*tensors_.egraph, *costs_, roots_}; }

 private:
  ModelProblem() = default;

  std::unique_ptr<client::LocalModel> files_;  // what weights lie in
  domain::TensorEGraph tensors_;
  rules::RuleSet rules_;
  std::unique_ptr<cost::CostModel> model_;
  std::unique_ptr<pricing::KernelPrices> prices_;
  std::unique_ptr<pricing::ENodeCosts> costs_;
  std::vector<egraph::ClassId> roots_;
};

}  // namespace quotient
