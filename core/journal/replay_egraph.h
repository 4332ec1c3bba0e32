#pragma once

// ReplayEGraph: the e-graph of a model in which the rewrites of a journal are made one by one.
// Those who write a journal and those who replay it use the same one, so that a place means the
// same to both.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/rule.h"
#include "core/journal/journal.h"
#include "core/model/graph.h"
#include "core/rules/rule_set.h"

namespace quotient::journal {

struct ReplaySettings {
  int max_opset = 0;  // As in Preparation, like the next two.
  bool assume_finite_inputs = false;
  int64_t max_folded_bytes = 0;
  std::span<const rules::Family> families = rules::AllFamilies();
  // A domain whose constants need not be looked at again. May be null. Borrowed by the e-graph.
  const domain::TensorDomain* other = nullptr;
};

// One thread. Errors are JOURNAL_INVALID or INTERNAL.
class ReplayEGraph {
 public:
  // `measured` is `graph` with every symbol bound, and has the same ids.
  static absl::StatusOr<std::unique_ptr<ReplayEGraph>> Begin(const model::Graph& graph,
                                                             const model::Graph& measured,
                                                             const ReplaySettings& settings);

  const domain::TensorEGraph& tensors() const { return tensors_; }
  const egraph::EGraph& graph() const { return *tensors_.egraph; }
  std::span<const egraph::Rule* const> rules() const { return rules_.rules(); }

  // --- Replaying

  // Makes all rewrites. Each rule must match at its place, and change the e-graph; an error names
  // the rewrite. Fails with CANCELLED or RUN_BUDGET when `stop` fires.
  absl::Status Make(std::span<const Rewrite> rewrites, const StopCondition& stop);
  // The graph of the chosen e-nodes. Its constants are not folded.
  absl::StatusOr<model::Graph> Finish(const Rewriting& rewriting) const;

  // --- Writing

  // The rewrite that applies this match, whose ids and words are those of this e-graph. Nullopt if
  // the rule has no such match.
  absl::StatusOr<std::optional<Rewrite>> Describe(size_t rule, const egraph::Match& match) const;
  // Whether the rule has this match.
  bool Has(size_t rule, const egraph::Match& match) const;
  // Applies a match without asking whether the rule has it, and returns whether that changed the
  // e-graph. If it did, this was the next rewrite.
  absl::StatusOr<bool> Apply(size_t rule, const egraph::Match& match);
  // A Rewriting without rewrites that chooses these e-nodes in their classes, and these Splits.
  absl::StatusOr<Rewriting> Choose(std::span<const egraph::ENodeId> chosen,
                                   std::span<const domain::Split> splits) const;

 private:
  explicit ReplayEGraph(domain::TensorEGraph tensors) : tensors_(std::move(tensors)) {}

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
  std::vector<egraph::Match> MatchesAt(size_t rule, uint32_t alternative,
                                       std::span<const egraph::ClassId> classes) const;
  absl::StatusOr<domain::Split> SplitOf(const std::vector<Place>& parts) const;

  // The e-nodes that a rewrite made: those from `first` to before `end`.
  struct Made {
    uint32_t first;
    uint32_t end;
  };

  domain::TensorEGraph tensors_;
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
