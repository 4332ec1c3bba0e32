#pragma once

// ReplayEGraph: the e-graph of a model in which the rewrites of a journal are made one by one.
// Those who write a journal and those who replay it use the same one, so that a place means the
// same to both.

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/rule.h"
#include "core/journal/journal.h"
#include "core/journal/step_budget.h"
#include "core/model/graph.h"
#include "core/rules/rule_set.h"

namespace quotient::journal {

struct ReplaySettings {
  int max_opset = 0;  // As in Preparation, like the next two.
  bool assume_finite_inputs = false;
  int64_t max_folded_bytes = 0;
  // What rewrites may make: e-nodes and constants, by an estimate of the bytes that they take.
  double most_bytes = std::numeric_limits<double>::infinity();
  std::span<const rules::Family> families = rules::AllFamilies();
  // A domain whose constants need not be looked at again. May be null. Borrowed by the e-graph.
  const domain::TensorDomain* other = nullptr;
};

// One thread. Errors are JOURNAL_INVALID or INTERNAL, LIMIT_NODES or LIMIT_BYTES where the e-graph
// grows too large, and those of StepBudget::Check.
class ReplayEGraph {
 public:
  // `measured` is `graph` with every symbol bound, and has the same ids. Borrows the budget, which
  // is taken from for all work.
  static absl::StatusOr<std::unique_ptr<ReplayEGraph>> Begin(const model::Graph& graph,
                                                             const model::Graph& measured,
                                                             const ReplaySettings& settings,
                                                             StepBudget* budget);

  const domain::TensorEGraph& tensors() const { return tensors_; }
  const egraph::EGraph& graph() const { return *tensors_.egraph; }
  std::span<const egraph::Rule* const> rules() const { return rules_.rules(); }

  // --- Replaying

  // Makes all rewrites. Each rule must match at its place, and change the e-graph, which must not
  // grow beyond MostENodes; an error names the rewrite.
  absl::Status Make(std::span<const Rewrite> rewrites);
  // How many e-nodes the e-graph may have with these rewrites. Each may make a hundred e-nodes for
  // each place that it names, and a small model some thousands in all.
  int64_t MostENodes(std::span<const Rewrite> rewrites) const;
  // The graph of the chosen e-nodes. Its constants are not folded.
  absl::StatusOr<model::Graph> Finish(const Rewriting& rewriting) const;

  // --- Writing

  // The rewrite that applies this match, whose ids and words are those of this e-graph. Nullopt if
  // the rule has no such match.
  absl::StatusOr<std::optional<Rewrite>> Describe(size_t rule, const egraph::Match& match) const;
  // Whether the rule has this match.
  absl::StatusOr<bool> Has(size_t rule, const egraph::Match& match) const;
  // Applies a match without asking whether the rule has it, and returns whether that changed the
  // e-graph. If it did, this was the next rewrite.
  absl::StatusOr<bool> Apply(size_t rule, const egraph::Match& match);
  // A Rewriting without rewrites that chooses these e-nodes in their classes, and these Splits.
  absl::StatusOr<Rewriting> Choose(std::span<const egraph::ENodeId> chosen,
                                   std::span<const domain::Split> splits) const;

 private:
  ReplayEGraph(domain::TensorEGraph tensors, double most_bytes, StepBudget* budget)
      : tensors_(std::move(tensors)), most_bytes_(most_bytes), budget_(*budget) {}

  // A rule, and a match of it.
  struct Found {
    size_t rule;
    egraph::Match match;
  };

  void NameOriginals();
  absl::StatusOr<Found> FindMatch(const Rewrite& rewrite) const;
  absl::StatusOr<egraph::ENodeId> Find(const Place& place) const;
  absl::StatusOr<Place> PlaceOf(egraph::ENodeId enode) const;
  // The matches with these classes, in a deterministic order.
  absl::StatusOr<std::vector<egraph::Match>> MatchesAt(
      size_t rule, uint32_t alternative, std::span<const egraph::ClassId> classes) const;
  // Counts the work of applying a match, and the memory of what it made: the e-nodes from `first`
  // on.
  absl::Status CountMade(const egraph::Match& match, uint32_t first, size_t unions);
  absl::StatusOr<domain::Split> SplitOf(const std::vector<Place>& parts) const;

  // The e-nodes that a rewrite made: those from `first` to before `end`.
  struct Made {
    uint32_t first;
    uint32_t end;
  };

  domain::TensorEGraph tensors_;
  const double most_bytes_;
  StepBudget& budget_;
  double bytes_ = 0;  // What rewrites have made, as most_bytes_ bounds it.
  rules::RuleSet rules_;
  absl::flat_hash_map<std::string, size_t> rule_by_name_;
  std::vector<Place> originals_;  // By ENodeId, of those that came with the graph.
  absl::flat_hash_map<std::string, egraph::ENodeId> by_value_;
  absl::flat_hash_map<std::string, egraph::ENodeId> by_node_;
  egraph::ENodeId absent_;  // Invalid if no operand is left out.
  std::vector<Made> made_;  // By rewrite.
};

// The e-nodes that a choice begins with: in each class the one that came first.
std::vector<egraph::ENodeId> FirstENodes(const egraph::EGraph& graph);

}  // namespace quotient::journal
