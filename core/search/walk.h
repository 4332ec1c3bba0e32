#pragma once

// Walk: moves a workspace between the states of a search. To go to a state it undoes the steps that
// are not on the path there and performs those that are missing; the steps that both paths begin
// with stay. One thread.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/search/rewriter.h"
#include "core/search/strategy.h"

namespace quotient::search {

// A step of a search. What it does depends only on the state in which it is taken.
struct Action {
  enum class Kind : uint8_t {
    // One match of a rule: that with index `amount` among those that wait.
    kPlace,
    kRule,  // All matches of a rule.
    // All rules, iteration by iteration, until there are `amount` percent as many e-nodes.
    kGrow,
  };
  static constexpr uint32_t kToTheLimit = 0xffffffffu;

  Kind kind = Kind::kRule;
  uint16_t rule = 0;  // Unused by kGrow.
  uint32_t amount = 0;
  friend auto operator<=>(const Action&, const Action&) = default;
};

inline constexpr Action kGrowToTheLimit = {Action::Kind::kGrow, 0, Action::kToTheLimit};
// The path to the state that growing the initial e-graph to the limit leads to.
inline std::vector<Action> PathToGrown() { return {kGrowToTheLimit}; }

// What is known of the state that a walk is in.
struct State {
  double cost = 0;
  BillId bill;
  int64_t enodes = 0;
  bool changed = true;     // Whether the last action changed anything.
  bool saturated = false;  // No rule has a match left.
  bool full = false;       // The node limit is reached.
  // Whether there are no further actions.
  bool final() const { return saturated || full; }
};

class Walk {
 public:
  // Borrows all. The workspace's graph is clean, without marks, and keeps its hash.
  Walk(Workspace* workspace, const Limits* limits, const Clock* clock);

  // Goes to the state that the path leads to from the initial state and describes it. If `stop`
  // fires meanwhile, goes to some state on the way. After an error the walk must not be used.
  // Matches are searched for only in states from which a step is taken, since that takes many times
  // longer than applying one, and most states have no successor.
  absl::StatusOr<State> GoTo(std::span<const Action> path, const StopCondition& stop);
  // The same without valuing the state, which takes most of the time of a short way. Its cost is
  // infinite until it is valued, so nothing prefers it to other states.
  absl::Status MoveTo(std::span<const Action> path, const StopCondition& stop);
  // Number of steps of the path that the walk has already taken.
  size_t StepsTaken(std::span<const Action> path) const;
  const egraph::EGraph& graph() const { return graph_; }
  // What is known of the present state.
  const State& state() const { return state_; }
  // Values the present state: after MoveTo, or once more since costs may have changed or `stop` may
  // have cut that short.
  const State& Revalue(const StopCondition& stop);
  // EGraph::state_hash of the present state, made nonzero.
  uint64_t Hash();
  // The rules whose single matches become actions.
  enum class Places {
    // Rules that are nothing but a pattern (egraph::Rule::program), as all rules for terms are. Of
    // the rules for models none is: most of what one match brings there, all matches of its rule
    // bring sooner.
    kOfPatterns,
    kOfAllRules,
  };
  // Actions that may change the state that GoTo or MoveTo has just reached: growing, rules that
  // have matches, and some single matches in the best graph. Values the state if single matches are
  // wanted. Empty if the state is final; incomplete if `stop` fires meanwhile.
  std::vector<Action> Actions(Places places, const StopCondition& stop);
  // Whether the two kinds of Places differ. Other threads may call this while the walk moves, since
  // it only reads what the constructor set.
  bool HasRulesBesidePatterns() const;
  // By rule, how many matches wait in the present state: those not yet applied by a kRule or kGrow
  // on the way. For rules that search from scratch, at most `from_scratch` are counted. Fewer if
  // `stop` fires.
  std::vector<size_t> CountMatches(size_t from_scratch, const StopCondition& stop);
  // A kPlace action for each of these matches, up to max_matches_per_rule for each rule.
  std::vector<Action> AllPlaces(const StopCondition& stop);
  // How long it took to get from the initial state to the present one, when the steps were
  // performed.
  double seconds() const { return steps_.empty() ? 0 : steps_.back().seconds; }
  // Makes the present state permanent by dropping the marks.
  void Commit();
  // What was applied on the way here, by rule.
  std::vector<RuleCounts> CountsByRule() const;

 private:
  // What the workspace told of a state's cost.
  struct Worth {
    double cost;
    BillId bill;
  };
  struct Step {
    Action action;
    // Whether the step was not performed to its end. Its state cannot be reached again.
    bool interrupted = false;
    bool searched = false;  // Whether matches of the state it leads to have been searched for.
    bool saturated = false;
    double seconds = 0;  // Time of this step and those before.
    // Worth of the state it leads to, once computed.
    std::optional<Worth> worth;
    std::vector<RuleCounts> by_rule;
  };

  // Performs the action and records it as the last step.
  absl::Status TakeStep(Action action, const StopCondition& stop);
  absl::Status ApplyRule(size_t rule, const StopCondition& stop);
  absl::Status ApplyPlace(size_t rule, size_t index, const StopCondition& stop);
  absl::Status Grow(uint32_t percent, const StopCondition& stop);
  void Search(const StopCondition& stop);
  void Describe();
  void SearchFromScratch(size_t rule, size_t wanted, const StopCondition& stop);
  size_t most_matches() const;
  void UndoStep();
  Worth Value(bool changed, const StopCondition& stop);
  const State& SetWorth(const Worth& worth);
  // Whether there are rules whose single matches become actions.
  bool HasPlaces(Places places) const;
  void AddPlaces(Places places, std::vector<Action>& actions);
  // Calls use() while the matches that CountMatches counts are waiting.
  template <typename Use>
  void WithMatches(size_t from_scratch, const StopCondition& stop, const Use& use);

  Workspace& workspace_;
  egraph::EGraph& graph_;
  const Limits& limits_;
  const Clock& clock_;
  Rewriter rewriter_;
  std::vector<Step> steps_;
  State state_;
  std::optional<Worth> initial_worth_;  // Worth of the initial state.
  bool is_prepared_ = false;            // Whether GoTo was called before.
  bool initial_searched_ = false;       // Step::searched of the initial state.
  // Matches wanted per rule; 0 for rules that search from scratch.
  std::vector<size_t> wanted_;
  std::vector<bool> in_best_;  // By ClassId; scratch space.
};

}  // namespace quotient::search
