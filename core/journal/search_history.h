#pragma once

// SearchHistory: all rewrites of a search, made again one by one in a fresh e-graph, with what each
// of them rests on.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/egraph/proof_log.h"
#include "core/egraph/rule.h"
#include "core/journal/derive.h"
#include "core/journal/premises.h"
#include "core/journal/reasons.h"
#include "core/journal/replay_egraph.h"
#include "core/journal/same_enodes.h"
#include "core/journal/step_budget.h"

namespace quotient::journal {

// Which earlier rewrites a rewrite is taken to rest on. What a rule has looked at is known in part
// only, so more is assumed where less turns out not to be enough.
enum class Dependence : uint8_t {
  // Those because of which its premises hold (premises.h).
  kPremises,
  // Also those that have changed a class of its match.
  kClasses,
  // Also those that have changed a class that is read by one of these, or that reads one of them.
  kNeighbourClasses,
  kAllEarlier,
};

// One thread.
class SearchHistory {
 public:
  struct Rewrite {
    size_t rule;  // Its index in ReplayEGraph::rules.
    // Each class is given by an e-node of it: one that the match rests on, or, if `matches` is
    // false, the one with which the search found the class.
    egraph::Match match;
    // Whether the rule still had the match when the search applied it.
    bool matches;
  };

  // Borrows `selected` and the budget. Fails with INTERNAL if the rewrites cannot be made again,
  // and as StepBudget::Check.
  static absl::StatusOr<std::unique_ptr<SearchHistory>> Make(const Selected& selected,
                                                             const model::Graph& measured,
                                                             const ReplaySettings& settings,
                                                             StepBudget* budget);

  const ReplayEGraph& replay() const { return *replay_; }
  // How many e-nodes came with the model.
  uint32_t originals() const { return originals_; }
  size_t num_rewrites() const { return rewrites_.size(); }
  const Rewrite& rewrite(uint32_t number) const { return rewrites_[number]; }
  const Reasons& reasons() const { return reasons_; }
  // Sets what a rewrite is taken to rest on. At first that is kPremises.
  void SetDependence(uint32_t number, Dependence dependence);
  // The live e-node that is the same as one of the search. INTERNAL if there is none.
  absl::StatusOr<egraph::ENodeId> FindLive(egraph::ENodeId of_search);

 private:
  SearchHistory(const Selected& selected, std::unique_ptr<ReplayEGraph> replay, StepBudget* budget);

  absl::Status RepeatAll();
  absl::Status RepeatOne(const egraph::ProofLog::Change& made);
  // Records the new e-nodes, which a rewrite with these premises has made. Null and Reasons::kNone
  // for those of the model.
  void NoteENodes(const Premises* premises, uint32_t rewrite);
  void IndexChanges();
  std::vector<egraph::ClassId> ClassesAround(const Rewrite& rewrite, Dependence dependence) const;

  const Selected& selected_;
  StepBudget& budget_;
  const std::unique_ptr<ReplayEGraph> replay_;
  const uint32_t originals_;
  const ENodeTable of_search_;
  SameENodes same_;
  absl::flat_hash_map<std::string, size_t> rule_by_name_;
  Reasons reasons_;
  std::vector<Rewrite> rewrites_;
  size_t children_noted_ = 0;  // How many children the recorded e-nodes have together.
  // A class that a rewrite has changed, by any id of it.
  struct Changed {
    egraph::ClassId cls;
    uint32_t rewrite;
  };
  std::vector<Changed> changed_;  // In order of the rewrites.
  // Rewrites that have changed a class, in order, by its canonical id in the end.
  absl::flat_hash_map<egraph::ClassId, std::vector<uint32_t>> changes_of_;
};

}  // namespace quotient::journal
