// In one iteration, all rules that are not banned search the same clean graph; then matches are
// applied, a few of each rule in turn so that no rule uses up the room alone; then the graph is
// rebuilt. A rule is not searched for more matches than the iteration takes, plus one.

#include "core/search/saturate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/search/backoff.h"

namespace quotient::search {
namespace {

using egraph::EGraph;

// Number of loop steps between two looks at the clock.
constexpr int64_t kStopCheckPeriod = 32;

class Saturation {
 public:
  Saturation(Rewriter& rewriter, const Limits& limits, const StopCondition& stop,
             const ProgressHook& hook)
      : rewriter_(rewriter),
        graph_(rewriter.graph()),
        limits_(limits),
        stop_(stop),
        hook_(hook),
        backoff_(rewriter.num_rules()) {
    outcome_.by_rule.resize(rewriter.num_rules());
  }

  absl::StatusOr<Outcome> Run();

 private:
  size_t num_rules() const { return rewriter_.num_rules(); }
  StopReason CheckLimits() const;
  std::vector<size_t> Search();
  absl::StatusOr<size_t> ApplySome(size_t rule, size_t left);
  absl::Status Apply(std::vector<size_t> left);
  absl::StatusOr<bool> MakeRoom();

  Rewriter& rewriter_;
  EGraph& graph_;
  const Limits& limits_;
  const StopCondition& stop_;
  const ProgressHook& hook_;

  Backoff backoff_;
  // Like iterations, but also counts those skipped because all rules with matches are banned.
  int64_t turn_ = 0;
  Outcome outcome_;

  // Size after the last Rebuild. enodes_at_most() bounds the size since then from above.
  int64_t clean_enodes_ = 0;
  uint32_t clean_bound_ = 0;
  int64_t enodes_at_most() const { return clean_enodes_ + (graph_.enode_bound() - clean_bound_); }
  absl::Status Rebuild() {
    QUOTIENT_RETURN_IF_ERROR(rewriter_.Rebuild());
    clean_enodes_ = graph_.num_enodes();
    clean_bound_ = graph_.enode_bound();
    return absl::OkStatus();
  }
};

absl::StatusOr<Outcome> Saturation::Run() {
  QUOTIENT_RETURN_IF_ERROR(Rebuild());
  while (true) {
    outcome_.reason = CheckLimits();
    if (outcome_.reason != StopReason::kNone) return outcome_;
    const std::vector<size_t> found = Search();
    outcome_.reason = stop_.Check();
    if (outcome_.reason != StopReason::kNone) return outcome_;
    if (std::ranges::all_of(found, [](size_t count) { return count == 0; })) {
      const int64_t release = backoff_.NextRelease(turn_);
      if (release == Backoff::kNothingBanned) {
        outcome_.reason = StopReason::kSaturated;
        return outcome_;
      }
      turn_ = release;
      continue;
    }
    QUOTIENT_RETURN_IF_ERROR(Apply(found));
    QUOTIENT_RETURN_IF_ERROR(Rebuild());
    ++turn_;
    ++outcome_.iterations;
    if (hook_) hook_(graph_, outcome_);
    if (outcome_.reason != StopReason::kNone) return outcome_;
  }
}

StopReason Saturation::CheckLimits() const {
  if (const StopReason reason = stop_.Check(); reason != StopReason::kNone) return reason;
  if (graph_.num_enodes() >= limits_.max_enodes) return StopReason::kNodeLimit;
  if (outcome_.iterations >= limits_.max_iterations) return StopReason::kIterations;
  return StopReason::kNone;
}

// Searches, and returns how many matches of each rule this iteration takes.
std::vector<size_t> Saturation::Search() {
  const size_t limit = static_cast<size_t>(std::max<int64_t>(limits_.max_matches_per_rule, 1));
  std::vector<size_t> taken(num_rules(), 0);
  for (size_t i = 0; i < num_rules(); ++i) {
    if (!backoff_.banned(i, turn_)) taken[i] = backoff_.Scaled(i, limit);
  }
  // One match more than the iteration takes shows that there are more.
  std::vector<size_t> wanted = taken;
  for (size_t& count : wanted) count += count > 0 ? 1 : 0;
  rewriter_.Search(wanted, stop_);
  for (size_t i = 0; i < num_rules(); ++i) {
    const size_t waiting = rewriter_.num_waiting(i);
    if (taken[i] > 0 && waiting > taken[i]) backoff_.Ban(i, turn_);
    taken[i] = std::min(taken[i], waiting);
  }
  return taken;
}

// Applies the next matches of the rule, at least one, and as many as leave every rule room for the
// same number. Returns how many matches were applied.
absl::StatusOr<size_t> Saturation::ApplySome(size_t rule, size_t left) {
  size_t count = 1;
  if (!rewriter_.searches_from_scratch(rule)) {
    const int64_t room = limits_.max_enodes - enodes_at_most();
    count = std::min(Rewriter::BatchFor(room / static_cast<int64_t>(num_rules())), left);
  }
  const uint32_t before = graph_.enode_bound();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t changed, rewriter_.ApplyNext(rule, count));
  outcome_.matches_applied += changed;
  outcome_.by_rule[rule] +=
      {static_cast<int64_t>(count), changed, int64_t{graph_.enode_bound()} - before};
  return count;
}

// Applies `left[rule]` matches of each rule. Sets the outcome's reason if it has to end early.
absl::Status Saturation::Apply(std::vector<size_t> left) {
  int64_t steps = 0;
  for (bool more = true; more;) {
    more = false;
    for (size_t rule = 0; rule < num_rules(); ++rule) {
      if (left[rule] == 0) continue;
      if (enodes_at_most() >= limits_.max_enodes) {
        QUOTIENT_ASSIGN_OR_RETURN(const bool room, MakeRoom());
        if (!room) {
          outcome_.reason = StopReason::kNodeLimit;
          return absl::OkStatus();
        }
      }
      if (++steps % kStopCheckPeriod == 0) {
        outcome_.reason = stop_.Check();
        if (outcome_.reason != StopReason::kNone) return absl::OkStatus();
      }
      QUOTIENT_ASSIGN_OR_RETURN(const size_t applied, ApplySome(rule, left[rule]));
      left[rule] -= applied;
      more |= left[rule] > 0;
    }
  }
  return absl::OkStatus();
}

// Rebuilds at the node limit, since congruence may remove duplicate e-nodes. Returns whether that
// freed a fair share of the limit; with less, the loop would rebuild for every match.
absl::StatusOr<bool> Saturation::MakeRoom() {
  QUOTIENT_RETURN_IF_ERROR(Rebuild());
  return clean_enodes_ < limits_.max_enodes - limits_.max_enodes / 16;
}

}  // namespace

absl::StatusOr<Outcome> Saturate(Rewriter& rewriter, const Limits& limits,
                                 const StopCondition& stop, const ProgressHook& hook) {
  return Saturation(rewriter, limits, stop, hook).Run();
}

absl::StatusOr<Outcome> SaturateStrategy::Run(Workspace& workspace, const Task& task) const {
  const Clock& clock = task.clock;
  const int64_t start_ns = clock.NowNs();
  const double cost_before = workspace.Cost(task.stop);
  std::vector<Improvement> improvements = {{clock.SecondsSince(start_ns), 0, cost_before}};
  Rewriter rewriter(&workspace.graph(), workspace.rules());
  QUOTIENT_ASSIGN_OR_RETURN(Outcome outcome, Saturate(rewriter, task.limits, task.stop, task.hook));
  workspace.OnGraphGrown();
  // The cost is computed only once, at the end, since in a large graph that takes longer than an
  // iteration. It may exceed the deadline by a second.
  constexpr double kExtraSeconds = 1;
  const StopCondition more = task.stop.WithoutDeadline().WithBudget(clock, kExtraSeconds);
  const StopCondition& last = outcome.reason == StopReason::kDeadline ? more : task.stop;
  if (const double cost = workspace.Cost(last); cost < cost_before) {
    improvements.push_back({clock.SecondsSince(start_ns), 0, cost});
  }
  outcome.improvements = std::move(improvements);
  return outcome;
}

}  // namespace quotient::search
