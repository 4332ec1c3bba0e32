#pragma once

// TensorWorkspace: the e-graph of a model as a search sees it. The cost of a state is that of the
// best graph that extraction finds in it, by what is known of kernels so far.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/domain/tensor_egraph.h"
#include "core/eval/fold.h"
#include "core/extract/block_memory.h"
#include "core/extract/extract.h"
#include "core/model/graph.h"
#include "core/pricing/enode_costs.h"
#include "core/pricing/kernel_prices.h"
#include "core/rules/rule_set.h"
#include "core/search/strategy.h"

namespace quotient::pricing {

class TensorWorkspace final : public search::Workspace {
 public:
  struct Settings {
    int max_opset = 0;  // The highest opset that a rewrite may need.
    std::span<const rules::Family> families = rules::AllFamilies();
    std::vector<std::string> disabled_rules;
    bool assume_finite_inputs = false;
    int64_t max_folded_bytes = eval::FoldLimits().max_result_bytes;
    int constant_footprint_log2 = 0;
    double operator_us = 0;         // What each operator costs beside its kernel.
    std::string extractor = "dag";  // Name of the extractor that values states.
  };

  // `measured` is `graph` with every symbol bound, and has the same ids. Borrows the prices, which
  // the workspaces of one search share. OPTION_INVALID for an unknown name of a rule; the name of
  // the extractor must be valid. Thread-safe.
  static absl::StatusOr<std::unique_ptr<TensorWorkspace>> Make(const model::Graph& graph,
                                                               const model::Graph& measured,
                                                               const Settings& settings,
                                                               KernelPrices* prices);

  domain::TensorEGraph& tensors() { return tensors_; }
  // The costs of the e-graph as it was at the last Refresh.
  ENodeCosts& costs() { return *costs_; }

  egraph::EGraph& graph() override { return *tensors_.egraph; }
  std::span<const egraph::Rule* const> rules() const override { return rules_.rules(); }
  void OnGraphGrown() override {}
  double Cost(const StopCondition& stop) override;
  search::BillId bill() const override { return bill_; }
  search::Prices* prices() override { return prices_->model().measures() ? prices_ : nullptr; }
  void ForEachBest(const std::function<void(egraph::ClassId)>& visit) override;
  // What the workspace keeps from one state to the next is valid in any state.
  void Mark() override {}
  void Rollback() override {}
  void Forget() override {}

 private:
  explicit TensorWorkspace(KernelPrices* prices) : prices_(prices) {}

  KernelPrices* const prices_;
  domain::TensorEGraph tensors_;
  rules::RuleSet rules_;
  std::unique_ptr<ENodeCosts> costs_;
  const extract::Extractor* extractor_ = nullptr;
  extract::BlockMemory blocks_;
  extract::Selection best_;
  search::BillId bill_;  // The bill of best_; invalid if kernels are not measured.
};

}  // namespace quotient::pricing
