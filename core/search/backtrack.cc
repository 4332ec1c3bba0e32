#include "core/search/backtrack.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/search/walk.h"

namespace quotient::search {
namespace {

class Search {
 public:
  Search(Workspace& workspace, const Task& task, const BacktrackParameters& parameters)
      : task_(task), parameters_(parameters), walk_(&workspace, &task.limits, &task.clock) {}

  absl::StatusOr<Outcome> Run();

 private:
  // A state is identified by its index in known_, the order in which states were seen. The original
  // is 0.
  struct Known {
    double cost;
    size_t parent;
    // The action that leads here from the parent.
    Action action;
  };
  using Cheapest = std::pair<double, size_t>;  // Cost and index of a state.

  StopReason CheckEnd() const;
  absl::Status Expand(size_t from);
  void AddState(const State& state, size_t parent, Action action, double bound);
  std::vector<Action> PathTo(size_t state) const;

  const Task& task_;
  const BacktrackParameters& parameters_;
  const int64_t start_ns_ = task_.clock.NowNs();

  Walk walk_;
  std::vector<Known> known_;
  absl::flat_hash_set<uint64_t> seen_;  // Hashes of the states that may be expanded.
  std::priority_queue<Cheapest, std::vector<Cheapest>, std::greater<>> queue_;
  size_t best_ = 0;
  double seconds_to_best_ = 0;
  Outcome outcome_;
};

absl::StatusOr<Outcome> Search::Run() {
  QUOTIENT_ASSIGN_OR_RETURN(const State root, walk_.GoTo({}, task_.stop));
  AddState(root, 0, {}, 0);
  while ((outcome_.reason = CheckEnd()) == StopReason::kNone) {
    if (queue_.empty() || outcome_.iterations >= parameters_.budget) break;
    const size_t cheapest = queue_.top().second;
    queue_.pop();
    ++outcome_.iterations;
    QUOTIENT_RETURN_IF_ERROR(Expand(cheapest));
  }
  if (outcome_.reason == StopReason::kNone) {
    outcome_.reason = queue_.empty() ? StopReason::kExhausted : StopReason::kIterations;
  }
  QUOTIENT_RETURN_IF_ERROR(walk_.GoTo(PathTo(best_), task_.stop.WithoutDeadline()).status());
  outcome_.by_rule = walk_.CountsByRule();
  walk_.Commit();
  for (const RuleCounts& counts : outcome_.by_rule) outcome_.matches_applied += counts.changed;
  outcome_.states = static_cast<int64_t>(known_.size());
  return outcome_;
}

// Also called within an expansion.
StopReason Search::CheckEnd() const {
  // Time for going back to the best state is reserved.
  const StopCondition stop = task_.stop.EarlierBy(seconds_to_best_);
  if (const StopReason reason = stop.Check(); reason != StopReason::kNone) return reason;
  if (outcome_.simulations >= task_.limits.max_simulations) return StopReason::kIterations;
  return StopReason::kNone;
}

absl::Status Search::Expand(size_t from) {
  const double bound = parameters_.alpha * known_[best_].cost;
  std::vector<Action> path = PathTo(from);
  QUOTIENT_RETURN_IF_ERROR(walk_.GoTo(path, task_.stop).status());
  for (const Action place : walk_.AllPlaces(task_.stop)) {
    if (CheckEnd() != StopReason::kNone) break;
    path.push_back(place);
    QUOTIENT_ASSIGN_OR_RETURN(const State state, walk_.GoTo(path, task_.stop));
    path.pop_back();
    // A step that was cut short leads to a state that no path reproduces.
    if (task_.stop.ShouldStop()) break;
    ++outcome_.simulations;
    if (state.changed) AddState(state, from, place, bound);
    if (task_.hook) task_.hook(walk_.graph(), outcome_);
  }
  return absl::OkStatus();
}

void Search::AddState(const State& state, size_t parent, Action action, double bound) {
  const bool first = known_.empty();
  if (!first && state.cost >= bound) return;
  // States at the node limit are possible answers but are not expanded.
  const bool may_expand = !state.final();
  if (may_expand && !seen_.insert(walk_.Hash()).second) return;
  const size_t id = known_.size();
  known_.push_back({state.cost, parent, action});
  if (may_expand) queue_.emplace(state.cost, id);
  if (!first && state.cost >= known_[best_].cost) return;
  best_ = id;
  seconds_to_best_ = walk_.seconds();
  outcome_.improvements.push_back(
      {task_.clock.SecondsSince(start_ns_), outcome_.simulations, state.cost});
}

std::vector<Action> Search::PathTo(size_t state) const {
  std::vector<Action> path;
  for (; state != 0; state = known_[state].parent) path.push_back(known_[state].action);
  std::ranges::reverse(path);
  return path;
}

}  // namespace

absl::StatusOr<Outcome> BacktrackStrategy::Run(Workspace& workspace, const Task& task) const {
  return Search(workspace, task, parameters_).Run();
}

}  // namespace quotient::search
