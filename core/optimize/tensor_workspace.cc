#include "core/optimize/tensor_workspace.h"

#include <limits>
#include <utility>

#include "core/base/status_macros.h"

namespace quotient::optimize {

absl::StatusOr<std::unique_ptr<TensorWorkspace>> TensorWorkspace::Make(const model::Graph& graph,
                                                                       const model::Graph& measured,
                                                                       const Settings& settings,
                                                                       cost::CostModel& model) {
  std::unique_ptr<TensorWorkspace> made(new TensorWorkspace);
  QUOTIENT_ASSIGN_OR_RETURN(made->tensors_, domain::FromGraph(graph, measured));
  QUOTIENT_ASSIGN_OR_RETURN(
      made->rules_,
      rules::BuildRules(made->tensors_.domain.get(), settings.max_opset, settings.disabled_rules));
  made->costs_ = std::make_unique<ENodeCosts>(made->tensors_, model, settings.threads,
                                              settings.constant_footprint_log2);
  made->extractor_ = extract::FindExtractor(settings.extractor);
  return made;
}

double TensorWorkspace::Cost() {
  costs_->Refresh();
  const std::vector<egraph::ClassId> roots = tensors_.CanonicalRoots();
  absl::StatusOr<extract::Selection> selection =
      extractor_->Extract({graph(), *costs_, roots}, StopCondition());
  if (!selection.ok()) return std::numeric_limits<double>::infinity();
  best_ = *std::move(selection);
  return best_.cost;
}

void TensorWorkspace::ForEachBest(const std::function<void(egraph::ClassId)>& visit) {
  for (uint32_t i = 0; i < best_.choice.size(); ++i) {
    if (best_.choice[i].valid()) visit(egraph::ClassId(i));
  }
}

}  // namespace quotient::optimize
