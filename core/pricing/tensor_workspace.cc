#include "core/pricing/tensor_workspace.h"

#include <limits>
#include <utility>

#include "core/base/status_macros.h"

namespace quotient::pricing {

absl::StatusOr<std::unique_ptr<TensorWorkspace>> TensorWorkspace::Make(const model::Graph& graph,
                                                                       const model::Graph& measured,
                                                                       const Settings& settings,
                                                                       KernelPrices* prices) {
  std::unique_ptr<TensorWorkspace> made(new TensorWorkspace(prices));
  QUOTIENT_ASSIGN_OR_RETURN(made->tensors_,
                            domain::FromGraph(graph, measured, settings.assume_finite_inputs));
  made->tensors_.domain->LimitConstants(settings.max_folded_bytes);
  QUOTIENT_ASSIGN_OR_RETURN(made->rules_,
                            rules::BuildRules(made->tensors_.domain.get(), settings.max_opset,
                                              settings.disabled_rules, settings.families));
  made->costs_ = std::make_unique<ENodeCosts>(
      made->tensors_, prices, settings.constant_footprint_log2, settings.operator_us);
  made->extractor_ = extract::FindExtractor(settings.extractor);
  return made;
}

double TensorWorkspace::Cost(const StopCondition& stop) {
  costs_->Refresh();
  const std::vector<egraph::ClassId> roots = tensors_.CanonicalRoots();
  const extract::Problem problem{graph(), *costs_, roots};
  absl::StatusOr<extract::Selection> selection = extractor_->ExtractAgain(problem, blocks_, stop);
  bill_ = {};
  if (!selection.ok()) return std::numeric_limits<double>::infinity();
  best_ = *std::move(selection);
  if (prices() != nullptr) {
    bill_ = prices_->BillOf(costs_->PartsOf(extract::ChargesOf(problem, best_)));
  }
  return best_.cost;
}

void TensorWorkspace::ForEachBest(const std::function<void(egraph::ClassId)>& visit) {
  for (uint32_t i = 0; i < best_.choice.size(); ++i) {
    if (best_.choice[i].valid()) visit(egraph::ClassId(i));
  }
}

}  // namespace quotient::pricing
