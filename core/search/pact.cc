#include "core/search/pact.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/search/walk.h"

namespace quotient::search {
namespace {

class Episode {
 public:
  Episode(Workspace& workspace, const Task& task, const PactParameters& parameters)
      : task_(task),
        parameters_(parameters),
        num_rules_(workspace.rules().size()),
        walk_(&workspace, &task.limits, &task.clock),
        rng_(task.seed),
        tree_(&parameters, &rng_) {}

  absl::StatusOr<Outcome> Run();

 private:
  StopReason CheckEnd(const PactState& now) const;
  absl::StatusOr<bool> Plan(PactState now);
  absl::StatusOr<bool> Simulate();
  absl::StatusOr<double> Rollout(PactState state, std::vector<Action> path);
  absl::StatusOr<PactState> Step(const PactState& before, const std::vector<Action>& path);
  std::vector<bool> Prune(PactState& state);
  bool OutOfSimulations() const { return outcome_.simulations >= task_.limits.max_simulations; }
  void NoteCost(double cost);

  static double Reward(const PactState& before, const PactState& after) {
    return std::max(before.cost - after.cost, 0.0);
  }
  static Action ActionOf(uint64_t rule) {
    return {Action::Kind::kRule, static_cast<uint16_t>(rule)};
  }

  const Task& task_;
  const PactParameters& parameters_;
  const size_t num_rules_;
  const int64_t start_ns_ = task_.clock.NowNs();

  Walk walk_;
  Rng rng_;
  PactTree tree_;
  std::vector<Action> committed_;
  Outcome outcome_;
};

absl::StatusOr<Outcome> Episode::Run() {
  QUOTIENT_ASSIGN_OR_RETURN(const State root, walk_.GoTo({}, task_.stop));
  PactState now = {.cost = root.cost, .done = root.enodes >= task_.limits.max_enodes};
  NoteCost(now.cost);
  while ((outcome_.reason = CheckEnd(now)) == StopReason::kNone) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool is_complete, Plan(now));
    if (!is_complete) continue;
    const std::optional<uint16_t> rule = tree_.BestRule();
    if (!rule.has_value()) {
      outcome_.reason = StopReason::kSaturated;
      break;
    }
    committed_.push_back(ActionOf(*rule));
    QUOTIENT_ASSIGN_OR_RETURN(const PactState next, Step(now, committed_));
    if (task_.stop.ShouldStop()) {
      committed_.pop_back();
      continue;
    }
    now = next;
    ++outcome_.iterations;
    NoteCost(now.cost);
  }
  // The walk is at the committed state or beyond it, so this only undoes steps, which is quick.
  QUOTIENT_RETURN_IF_ERROR(walk_.GoTo(committed_, task_.stop.WithoutDeadline()).status());
  outcome_.by_rule = walk_.CountsByRule();
  walk_.Commit();
  for (const RuleCounts& counts : outcome_.by_rule) outcome_.matches_applied += counts.changed;
  return outcome_;
}

StopReason Episode::CheckEnd(const PactState& now) const {
  if (const StopReason reason = task_.stop.Check(); reason != StopReason::kNone) return reason;
  if (now.done) return StopReason::kNodeLimit;
  if (outcome_.iterations >= parameters_.max_commits) return StopReason::kIterations;
  if (OutOfSimulations()) return StopReason::kIterations;
  return StopReason::kNone;
}

// Builds the tree for the next commit. False if the search must end before the tree is complete.
absl::StatusOr<bool> Episode::Plan(PactState now) {
  const std::vector<bool> open = Prune(now);
  tree_.Reset(now, open);
  for (int i = 0; i < parameters_.simulations_per_commit; ++i) {
    if (task_.stop.ShouldStop() || OutOfSimulations()) return false;
    QUOTIENT_ASSIGN_OR_RETURN(const bool more, Simulate());
    if (!more) break;
    if (task_.hook) task_.hook(walk_.graph(), outcome_);
  }
  return !task_.stop.ShouldStop();
}

// False if there is nothing to try.
absl::StatusOr<bool> Episode::Simulate() {
  PactTree::Path tree_path;
  const PactTree::Descent descent = tree_.Select(&tree_path);
  if (descent == PactTree::Descent::kNothing) return false;
  ++outcome_.simulations;
  if (descent == PactTree::Descent::kDone) {
    tree_.Complete(tree_path, 0);
    return true;
  }
  std::vector<Action> path = committed_;
  for (const uint16_t rule : tree_path.rules) path.push_back(ActionOf(rule));
  const PactState before = tree_.state(tree_path.nodes.back());
  QUOTIENT_ASSIGN_OR_RETURN(PactState after, Step(before, path));
  const bool leads_on = after.changed && !after.done;
  const std::vector<bool> open = leads_on ? Prune(after) : std::vector<bool>(num_rules_, false);
  tree_.Expand(tree_path, after, Reward(before, after), open);
  QUOTIENT_ASSIGN_OR_RETURN(const double value, Rollout(after, std::move(path)));
  tree_.Complete(tree_path, value);
  return true;
}

// The sum of discounted rewards of random steps from the state.
absl::StatusOr<double> Episode::Rollout(PactState state, std::vector<Action> path) {
  double value = 0;
  double weight = 1;
  for (int i = 0; i <= parameters_.max_sim_step && !state.done && !task_.stop.ShouldStop(); ++i) {
    path.push_back(ActionOf(rng_.Below(num_rules_)));
    QUOTIENT_ASSIGN_OR_RETURN(const PactState next, Step(state, path));
    value += weight * Reward(state, next);
    weight *= parameters_.gamma;
    state = next;
  }
  return value;
}

absl::StatusOr<PactState> Episode::Step(const PactState& before, const std::vector<Action>& path) {
  QUOTIENT_ASSIGN_OR_RETURN(const State state, walk_.GoTo(path, task_.stop));
  PactState after = {.cost = state.cost, .changed = state.changed};
  after.idle = state.changed ? 0 : before.idle + 1;
  after.done =
      state.enodes >= task_.limits.max_enodes || after.idle >= static_cast<int>(num_rules_);
  return after;
}

// Which rules have a match in the state that the walk is in. Counts the others as idle in `state`.
std::vector<bool> Episode::Prune(PactState& state) {
  std::vector<bool> open;
  for (const size_t count : walk_.CountMatches(1, task_.stop)) open.push_back(count > 0);
  state.idle += static_cast<int>(std::ranges::count(open, false));
  return open;
}

void Episode::NoteCost(double cost) {
  if (!outcome_.improvements.empty() && cost >= outcome_.improvements.back().cost) return;
  outcome_.improvements.push_back(
      {task_.clock.SecondsSince(start_ns_), outcome_.simulations, cost});
}

}  // namespace

absl::StatusOr<Outcome> PactStrategy::Run(Workspace& workspace, const Task& task) const {
  return Episode(workspace, task, parameters_).Run();
}

}  // namespace quotient::search
