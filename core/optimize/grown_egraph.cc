#include "core/optimize/grown_egraph.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/status_macros.h"

namespace quotient::optimize {
namespace {

using egraph::ENodeId;

int64_t ConstantBytes(const model::Graph& graph) {
  int64_t bytes = 0;
  for (const model::Value& value : graph.values) {
    if (value.constant.has_value()) bytes += static_cast<int64_t>(value.constant->bytes().size());
  }
  return bytes;
}

}  // namespace

// The oldest e-node of a class came with the original if any did,
// and its children are older.
extract::Selection OriginalSelection(const egraph::EGraph& graph) {
  extract::Selection original;
  original.choice.resize(graph.class_bound());
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    if (!graph.live(ENodeId(i))) continue;
    ENodeId& choice = original.choice[graph.class_of(ENodeId(i)).value()];
    if (!choice.valid()) choice = ENodeId(i);
  }
  return original;
}

std::vector<ENodeId> ENodesOf(const extract::Selection& selection) {
  std::vector<ENodeId> nodes;
  for (ENodeId node : selection.choice) {
    if (node.valid()) nodes.push_back(node);
  }
  return nodes;
}

GrownEGraph::GrownEGraph(std::unique_ptr<pricing::KernelPrices> prices,
                         std::unique_ptr<pricing::TensorWorkspace> workspace,
                         const eval::FoldLimits& folding, const StopCondition& stop,
                         double surcharge)
    : prices_(std::move(prices)),
      workspace_(std::move(workspace)),
      stop_(stop),
      surcharged_(graph(), costs(), surcharge),
      folds_(ConstantBytes(tensors().original)),
      folding_(folding) {
  folding_.cache = &folds_;
}

std::vector<ENodeId> GrownEGraph::OriginalENodes() const {
  std::vector<ENodeId> nodes;
  for (uint32_t i = 0; i < tensors().original_of_enode.size(); ++i) {
    if (tensors().original_of_enode[i].node.valid()) nodes.emplace_back(i);
  }
  return nodes;
}

absl::StatusOr<std::optional<Candidate>> GrownEGraph::Make(const extract::Selection& selection) {
  QUOTIENT_ASSIGN_OR_RETURN(const double cost, extract::CheckSelection(problem(), selection));
  const std::vector<domain::Rewrite> rewrites = domain::RewritesOf(tensors(), selection.choice);
  Candidate candidate;
  candidate.cost_us = cost;
  const std::vector<domain::Split> splits = costs().SplitsAmong(ENodesOf(selection));
  domain::EqualNames names;
  QUOTIENT_ASSIGN_OR_RETURN(candidate.graph,
                            domain::ToGraph(tensors(), selection.choice, rules(), splits, &names));
  // Without a rewrite the graph can differ only in that equal nodes were merged.
  if (rewrites.empty() && candidate.graph.nodes.size() >= NodesOfOriginal()) {
    return std::nullopt;
  }
  // Folding may make other graphs equal, and takes long.
  if (!unfolded_.insert(model::GraphDigest(candidate.graph)).second) return std::nullopt;
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(candidate.graph, folding_, stop_.WithoutDeadline()));
  if (!digests_.insert(model::GraphDigest(candidate.graph)).second) return std::nullopt;
  for (const domain::Rewrite& rewrite : rewrites) {
    candidate.journal.push_back(EntryOf(rewrite, names));
  }
  candidate.names = std::move(names.shared);
  candidate.chosen_from = std::make_shared<const ChosenFrom>(
      ChosenFrom{.tensors = std::shared_ptr<const domain::TensorEGraph>(workspace_, &tensors()),
                 .rules = rules(),
                 .choice = selection.choice,
                 .splits = splits});
  return candidate;
}

report::JournalEntry GrownEGraph::EntryOf(const domain::Rewrite& rewrite,
                                          const domain::EqualNames& names) const {
  report::JournalEntry entry = {.rule = rules()[rewrite.origin - 1]->name(),
                                .site = rewrite.site,
                                .before = rewrite.before,
                                .after = rewrite.after};
  for (const egraph::Origin step : rewrite.steps) {
    entry.steps.push_back(rules()[step - 1]->name());
  }
  for (const egraph::ClassId cls : rewrite.classes) {
    const std::string& name = names.of_class[cls.value()];
    if (!name.empty()) entry.values.push_back(name);
  }
  return entry;
}

size_t GrownEGraph::NodesOfOriginal() const {
  const std::vector<bool> live = model::LiveNodes(tensors().original);
  return std::count(live.begin(), live.end(), true);
}

}  // namespace quotient::optimize
