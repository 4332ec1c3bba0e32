#pragma once

// GrownEGraph: the e-graph of a search that has ended, from which graphs are chosen.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "core/base/digest.h"
#include "core/base/stop.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/rule.h"
#include "core/eval/fold.h"
#include "core/eval/fold_cache.h"
#include "core/extract/extract.h"
#include "core/optimize/candidate.h"
#include "core/optimize/rewrite_surcharge.h"
#include "core/pricing/kernel_prices.h"
#include "core/pricing/tensor_workspace.h"

namespace quotient::optimize {

// Selects the original's e-nodes.
extract::Selection OriginalSelection(const egraph::EGraph& graph);
// The e-nodes of a selection.
std::vector<egraph::ENodeId> ENodesOf(const extract::Selection& selection);

// The e-graph, the costs of its e-nodes, and the graphs that were made of it so far. One thread.
class GrownEGraph {
 public:
  // The workspace borrows the prices. Only the cancellation of the job interrupts folding, not a
  // deadline of `stop`. `surcharge` is that of rewrite_surcharge.h.
  GrownEGraph(std::unique_ptr<pricing::KernelPrices> prices,
              std::unique_ptr<pricing::TensorWorkspace> workspace, const eval::FoldLimits& folding,
              const StopCondition& stop, double surcharge = 0);

  const egraph::EGraph& graph() const { return workspace_->graph(); }
  const domain::TensorEGraph& tensors() const { return workspace_->tensors(); }
  std::span<const egraph::Rule* const> rules() const { return workspace_->rules(); }
  const pricing::KernelPrices& prices() const { return *prices_; }
  pricing::ENodeCosts& costs() const { return workspace_->costs(); }
  // The surcharge on rewrites, as a share of the price.
  double surcharge() const { return surcharged_.share(); }
  // What is chosen by: the extraction problem with these costs and the surcharge. Borrows the
  // e-graph.
  extract::Problem problem() const { return {graph(), surcharged_, roots_}; }

  // The e-nodes that came with the original.
  std::vector<egraph::ENodeId> OriginalENodes() const;

  // Makes the graph of a selection. Nullopt if it is the original, or was made before. The
  // candidate keeps the e-graph, without prices (Candidate::chosen_from).
  absl::StatusOr<std::optional<Candidate>> Make(const extract::Selection& selection);

 private:
  report::JournalEntry EntryOf(const domain::Rewrite& rewrite,
                               const domain::EqualNames& names) const;
  size_t NodesOfOriginal() const;

  const std::unique_ptr<pricing::KernelPrices> prices_;
  const std::shared_ptr<pricing::TensorWorkspace> workspace_;
  const StopCondition stop_;
  const RewriteSurcharge surcharged_;
  const std::vector<egraph::ClassId> roots_ = tensors().CanonicalRoots();
  absl::flat_hash_set<Digest> unfolded_;  // Digests of all chosen graphs, before folding.
  absl::flat_hash_set<Digest> digests_;   // Digests of the candidates' graphs, after folding.
  eval::FoldCache folds_;                 // What folding earlier candidates computed.
  eval::FoldLimits folding_;              // With the cache.
};

}  // namespace quotient::optimize
