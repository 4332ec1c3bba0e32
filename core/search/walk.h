#pragma once

// Walk: a workspace on its way through the states of a search. Steps that lead to where it goes are
// undone or done, what both ways have in common stays. One thread.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/search/rewriter.h"
#include "core/search/strategy.h"

namespace quotient::search {

// A step of a search, a function of the state in which it is taken.
struct Action {
  enum class Kind : uint8_t {
    kPlace,  // one match of a rule: number `amount` of those that wait
    kRule,   // all matches of a rule
    kGrow,   // all rules, iteration by iteration, until there are `amount` percent as many e-nodes
  };
  static constexpr uint32_t kToTheLimit = 0xffffffffu;

  Kind kind = Kind::kRule;
  uint16_t rule = 0;  // not of kGrow
  uint32_t amount = 0;
  friend auto operator<=>(const Action&, const Action&) = default;
};

// Where a walk has come to.
struct State {
  double cost = 0;
  BillId bill;
  int64_t enodes = 0;
  bool changed = true;     // by the last action
  bool saturated = false;  // no rule has anything left to do
  bool full = false;       // there is no room for anything else
  // Nothing leads on from here.
  bool final() const { return saturated || full; }
};

class Walk {
 public:
  // Borrows both. The workspace's graph is clean, without marks, and keeps its hash.
  Walk(Workspace* workspace, const Limits* limits);

  // The state that the path leads to from where the walk began; if `stop` says so meanwhile, a
  // state on the way. After an error the walk is at an end. Matches are only looked for in states
  // on the way: it takes many times what applying one does, and most states lead nowhere.
  absl::StatusOr<State> GoTo(std::span<const Action> path, const StopCondition& stop);
  // How many steps of the path lie behind it already.
  size_t StepsTaken(std::span<const Action> path) const;
  const egraph::EGraph& graph() const { return graph_; }
  // What GoTo said last.
  const State& here() const { return here_; }
  // Of where it is: EGraph::state_hash, never 0.
  uint64_t Hash();
  // What may change where it has just gone: growing, rules that have matches, and some places in
  // what is best there. Nothing if that is final; some if `stop` says so meanwhile.
  enum class Places { kOfIndexedRules, kOfAllRules };
  std::vector<Action> Actions(Places places, const StopCondition& stop);
  // Whether it makes a difference which places. Other threads may ask, also while this one is on
  // its way: only what the constructor made of the rules is looked at.
  bool HasRulesFromScratch() const;
  // How many matches wait where it is, by rule: those that no kRule and no kGrow on the way has
  // applied. Of rules that search from scratch `from_scratch` at most are looked for. Fewer if
  // `stop` says so.
  std::vector<size_t> CountMatches(size_t from_scratch, const StopCondition& stop);
  // Each of these matches by itself, up to the limits' matches per rule.
  std::vector<Action> AllPlaces(const StopCondition& stop);
  // How long it took to come from the beginning to where it is, when that was done.
  double seconds() const { return steps_.empty() ? 0 : steps_.back().seconds; }
  // Stays there: the marks are gone.
  void Settle();
  // Matches that changed the graph on the way there, by rule.
  std::vector<int64_t> AppliedByRule() const;

 private:
  struct Worth {
    double cost;
    BillId bill;
  };
  struct Step {
    Action action;
    bool cut_short = false;
    bool searched = false;  // matches wait that an action may take
    bool saturated = false;
    double seconds = 0;          // of this one and those before
    std::optional<Worth> worth;  // of the state that it leads to, if anybody asked
    std::vector<int64_t> applied_by_rule;
  };

  absl::Status Do(Action action, const StopCondition& stop);
  absl::Status DoRule(size_t rule, const StopCondition& stop);
  absl::Status DoPlace(size_t rule, size_t index, const StopCondition& stop);
  absl::Status Grow(uint32_t percent, const StopCondition& stop);
  void Search(const StopCondition& stop);
  void Describe(const StopCondition& stop);
  void SearchFromScratch(size_t rule, size_t wanted, const StopCondition& stop);
  size_t most_matches() const;
  void Back();
  Worth Value(bool changed, const StopCondition& stop);
  void AddPlaces(Places places, std::vector<Action>& actions);
  // Calls use() while the matches wait that CountMatches counts.
  template <typename Use>
  void WithMatches(size_t from_scratch, const StopCondition& stop, const Use& use);

  Workspace& workspace_;
  egraph::EGraph& graph_;
  const Limits& limits_;
  Rewriter rewriter_;
  std::vector<Step> steps_;
  State here_;
  std::optional<Worth> first_worth_;  // of where it began
  bool begun_ = false;
  bool first_searched_ = false;  // as Step::searched, of where it began
  std::vector<size_t> wanted_;   // of the rules that need not search from scratch
  std::vector<bool> in_best_;    // by ClassId: scratch
};

}  // namespace quotient::search
