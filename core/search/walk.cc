#include "core/search/walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/status_macros.h"
#include "core/search/saturate.h"

namespace quotient::search {
namespace {

// The number of last waiting matches of each rule that are considered as places: the newest ones,
// or the newest of its last pattern.
constexpr size_t kNewestConsidered = 16;
// Tables have room from the start for twice the node limit, or twice this number if that is less. A
// table that grew after a mark would have to grow again on each path from there.
constexpr int64_t kMostExpected = 1 << 14;

}  // namespace

Walk::Walk(Workspace* workspace, const Limits* limits, const Clock* clock)
    : workspace_(*workspace),
      graph_(workspace->graph()),
      limits_(*limits),
      clock_(*clock),
      rewriter_(&workspace->graph(), workspace->rules()),
      wanted_(rewriter_.num_rules(), 0) {
  for (size_t rule = 0; rule < wanted_.size(); ++rule) {
    if (!rewriter_.searches_from_scratch(rule)) wanted_[rule] = most_matches();
  }
}

size_t Walk::most_matches() const {
  return static_cast<size_t>(std::max<int64_t>(limits_.max_matches_per_rule, 1));
}

absl::StatusOr<State> Walk::GoTo(std::span<const Action> path, const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(MoveTo(path, stop));
  return SetWorth(Value(state_.changed, stop));
}

absl::Status Walk::MoveTo(std::span<const Action> path, const StopCondition& stop) {
  if (!is_prepared_) {
    QUOTIENT_RETURN_IF_ERROR(rewriter_.Rebuild());
    workspace_.OnGraphGrown();
    graph_.ExpectNodes(
        static_cast<size_t>(2 * std::clamp<int64_t>(limits_.max_enodes, 0, kMostExpected)));
    is_prepared_ = true;
  }
  const size_t taken = StepsTaken(path);
  while (steps_.size() > taken) UndoStep();
  for (const Action action : path.subspan(taken)) QUOTIENT_RETURN_IF_ERROR(TakeStep(action, stop));
  Describe();
  return absl::OkStatus();
}

size_t Walk::StepsTaken(std::span<const Action> path) const {
  size_t taken = 0;
  while (taken < std::min(steps_.size(), path.size()) && !steps_[taken].interrupted &&
         steps_[taken].action == path[taken]) {
    ++taken;
  }
  return taken;
}

void Walk::Describe() {
  state_ = {.cost = std::numeric_limits<double>::infinity(), .enodes = graph_.num_enodes()};
  if (!steps_.empty()) {
    const auto some = [](const RuleCounts& counts) { return counts.changed > 0; };
    state_.changed = std::ranges::any_of(steps_.back().by_rule, some);
    state_.saturated = steps_.back().saturated;
  }
  state_.full = state_.enodes >= limits_.max_enodes;
}

const State& Walk::Revalue(const StopCondition& stop) {
  return SetWorth(Value(/*changed=*/true, stop));
}

const State& Walk::SetWorth(const Worth& worth) {
  state_.cost = worth.cost;
  state_.bill = worth.bill;
  return state_;
}

uint64_t Walk::Hash() { return graph_.state_hash() | 1; }

void Walk::UndoStep() {
  rewriter_.Rollback();
  workspace_.Rollback();
  steps_.pop_back();
}

void Walk::Commit() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    rewriter_.Forget();
    workspace_.Forget();
  }
}

std::vector<RuleCounts> Walk::CountsByRule() const {
  std::vector<RuleCounts> sum(rewriter_.num_rules());
  for (const Step& step : steps_) {
    for (size_t rule = 0; rule < sum.size(); ++rule) sum[rule] += step.by_rule[rule];
  }
  return sum;
}

// Searches under a mark of its own, so that the matches found here do not change what the next step
// finds.
template <typename Use>
void Walk::WithMatches(size_t from_scratch, const StopCondition& stop, const Use& use) {
  Search(stop);
  std::vector<size_t> counts = wanted_;
  for (size_t rule = 0; rule < counts.size(); ++rule) {
    if (rewriter_.searches_from_scratch(rule)) counts[rule] = from_scratch;
  }
  rewriter_.Mark();
  workspace_.Mark();
  rewriter_.Search(counts, stop);
  use();
  rewriter_.Rollback();
  workspace_.Rollback();
}

std::vector<size_t> Walk::CountMatches(size_t from_scratch, const StopCondition& stop) {
  std::vector<size_t> counts(rewriter_.num_rules());
  WithMatches(from_scratch, stop, [&] {
    for (size_t rule = 0; rule < counts.size(); ++rule) counts[rule] = rewriter_.num_waiting(rule);
  });
  return counts;
}

std::vector<Action> Walk::AllPlaces(const StopCondition& stop) {
  std::vector<Action> places;
  const std::vector<size_t> counts = CountMatches(most_matches(), stop);
  for (size_t rule = 0; rule < counts.size(); ++rule) {
    for (uint32_t i = 0; i < std::min(counts[rule], most_matches()); ++i) {
      places.push_back({Action::Kind::kPlace, static_cast<uint16_t>(rule), i});
    }
  }
  return places;
}

absl::Status Walk::TakeStep(Action action, const StopCondition& stop) {
  const int64_t start_ns = clock_.NowNs();
  const double before = seconds();
  Search(stop);
  rewriter_.Mark();
  workspace_.Mark();
  steps_.push_back({.action = action});
  steps_.back().by_rule.resize(rewriter_.num_rules());
  switch (action.kind) {
    case Action::Kind::kPlace:
      QUOTIENT_RETURN_IF_ERROR(ApplyPlace(action.rule, action.amount, stop));
      break;
    case Action::Kind::kRule:
      QUOTIENT_RETURN_IF_ERROR(ApplyRule(action.rule, stop));
      break;
    case Action::Kind::kGrow:
      QUOTIENT_RETURN_IF_ERROR(Grow(action.amount, stop));
      break;
  }
  workspace_.OnGraphGrown();
  steps_.back().interrupted = stop.ShouldStop();
  steps_.back().seconds = before + clock_.SecondsSince(start_ns);
  return absl::OkStatus();
}

absl::Status Walk::ApplyPlace(size_t rule, size_t index, const StopCondition& stop) {
  SearchFromScratch(rule, std::min(index + 1, most_matches()), stop);
  // If the state was reached on another path, fewer matches may be waiting.
  if (index < rewriter_.num_waiting(rule)) {
    const uint32_t before = graph_.enode_bound();
    QUOTIENT_ASSIGN_OR_RETURN(const bool changed, rewriter_.ApplyWaiting(rule, index));
    steps_.back().by_rule[rule] += {1, changed ? 1 : 0, int64_t{graph_.enode_bound()} - before};
  }
  return rewriter_.Rebuild();
}

absl::Status Walk::ApplyRule(size_t rule, const StopCondition& stop) {
  SearchFromScratch(rule, most_matches(), stop);
  const int64_t room = limits_.max_enodes - graph_.num_enodes();
  RuleCounts& counts = steps_.back().by_rule[rule];
  while (rewriter_.num_waiting(rule) > 0 && !stop.ShouldStop()) {
    const int64_t left = room - counts.enodes;
    if (left <= 0) break;
    const size_t batch = std::min(Rewriter::BatchFor(left), rewriter_.num_waiting(rule));
    const uint32_t before = graph_.enode_bound();
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t changed, rewriter_.ApplyNext(rule, batch));
    counts += {static_cast<int64_t>(batch), changed, int64_t{graph_.enode_bound()} - before};
  }
  return rewriter_.Rebuild();
}

absl::Status Walk::Grow(uint32_t percent, const StopCondition& stop) {
  Limits limits = limits_;
  if (percent != Action::kToTheLimit) {
    limits.max_enodes = std::min(limits.max_enodes, graph_.num_enodes() * percent / 100);
  }
  QUOTIENT_ASSIGN_OR_RETURN(const Outcome outcome, Saturate(rewriter_, limits, stop, {}));
  steps_.back().saturated = outcome.reason == StopReason::kSaturated;
  steps_.back().by_rule = outcome.by_rule;
  return absl::OkStatus();
}

// Searches for the matches that an action may apply. They belong to the state: they stay when later
// steps are undone.
void Walk::Search(const StopCondition& stop) {
  bool& searched = steps_.empty() ? initial_searched_ : steps_.back().searched;
  if (searched) return;
  rewriter_.Search(wanted_, stop);
  searched = !stop.ShouldStop();
  // An action is an index among the waiting matches. With fewer matches it would mean another
  // match, so the state must not be reused.
  if (!searched && !steps_.empty()) steps_.back().interrupted = true;
}

// Does nothing for rules that the matcher indexes.
void Walk::SearchFromScratch(size_t rule, size_t wanted, const StopCondition& stop) {
  if (!rewriter_.searches_from_scratch(rule)) return;
  std::vector<size_t> of_rules(rewriter_.num_rules(), 0);
  of_rules[rule] = wanted;
  rewriter_.Search(of_rules, stop);
}

// Returns the worth of the present state. If the last step changed nothing, that is the worth of
// the state before it, which is computed at most once.
Walk::Worth Walk::Value(bool changed, const StopCondition& stop) {
  const size_t steps = steps_.size() - (changed ? 0 : 1);
  std::optional<Worth>& worth = steps == 0 ? initial_worth_ : steps_[steps - 1].worth;
  if (changed || !worth.has_value()) {
    const double cost = workspace_.Cost(stop);
    const Worth now = {cost, workspace_.bill()};
    // Incomplete: the true cost may be lower.
    if (stop.ShouldStop()) return now;
    worth = now;
  }
  return *worth;
}

bool Walk::HasRulesBesidePatterns() const {
  for (size_t rule = 0; rule < rewriter_.num_rules(); ++rule) {
    if (!rewriter_.is_pattern(rule)) return true;
  }
  return false;
}

bool Walk::HasPlaces(Places places) const {
  for (size_t rule = 0; rule < rewriter_.num_rules(); ++rule) {
    if (places == Places::kOfAllRules || rewriter_.is_pattern(rule)) return true;
  }
  return false;
}

std::vector<Action> Walk::Actions(Places places, const StopCondition& stop) {
  std::vector<Action> actions;
  if (state_.final()) return actions;
  const bool has_places = HasPlaces(places);
  // Finds the best graph.
  if (has_places && std::isinf(state_.cost)) SetWorth(Value(state_.changed, stop));
  const size_t from_scratch = places == Places::kOfAllRules ? kNewestConsidered : 1;
  WithMatches(from_scratch, stop, [&] {
    for (size_t rule = 0; rule < rewriter_.num_rules(); ++rule) {
      if (rewriter_.num_waiting(rule) == 0) continue;
      actions.push_back({Action::Kind::kRule, static_cast<uint16_t>(rule)});
    }
    if (has_places) AddPlaces(places, actions);
  });
  if (actions.empty()) return actions;
  constexpr uint32_t kByHalf = 150;
  std::vector<Action> grow = {{Action::Kind::kGrow, 0, Action::kToTheLimit}};
  if (graph_.num_enodes() * kByHalf / 100 < limits_.max_enodes) {
    grow.push_back({Action::Kind::kGrow, 0, kByHalf});
  }
  actions.insert(actions.begin(), grow.begin(), grow.end());
  return actions;
}

// Adds up to kTaken of the last waiting matches of each rule, those that rewrite a part of the best
// graph. A rule with a single match is skipped, since its kRule action does the same.
void Walk::AddPlaces(Places places, std::vector<Action>& actions) {
  constexpr int kTaken = 4;
  in_best_.assign(graph_.class_bound(), false);
  workspace_.ForEachBest([this](egraph::ClassId id) { in_best_[id.value()] = true; });
  for (size_t rule = 0; rule < rewriter_.num_rules(); ++rule) {
    if (places == Places::kOfPatterns && !rewriter_.is_pattern(rule)) continue;
    const size_t waiting = rewriter_.num_waiting(rule);
    if (waiting < 2) continue;
    int left = kTaken;
    for (size_t i = waiting; i-- > waiting - std::min(waiting, kNewestConsidered) && left > 0;) {
      if (!rewriter_.Touches(rule, i, in_best_)) continue;
      actions.push_back(
          {Action::Kind::kPlace, static_cast<uint16_t>(rule), static_cast<uint32_t>(i)});
      --left;
    }
  }
}

}  // namespace quotient::search
