// One iteration: all rules search the same clean graph, then their new matches are applied some of
// each rule in turn (so that none uses up the room alone), then the graph is rebuilt. Patterns are
// matched together and incrementally, each no further than the iteration takes of it; a banned rule
// is not searched. The others (guards that look at the graph, rules written by hand) search from
// scratch, and a memory drops what they found before.

#include "core/search/saturate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/egraph/explain.h"
#include "core/egraph/matcher.h"
#include "core/search/backoff.h"
#include "core/search/match_memory.h"

namespace quotient::search {
namespace {

using egraph::EGraph;
using egraph::Match;
using egraph::Origin;
using egraph::Rule;

// How many steps of a loop go by between looks at the clock.
constexpr int64_t kStopCheckPeriod = 32;

// Takes the matches of one rule that no iteration has seen.
class NewMatches : public egraph::MatchSink {
 public:
  NewMatches(size_t rule, size_t limit, const StopCondition& stop, MatchMemory& memory)
      : rule_(rule), limit_(limit), stop_(stop), memory_(memory) {}

  bool Add(Match match) override {
    if (++offered_ % kStopCheckPeriod == 0 && stop_.ShouldStop()) return false;
    const MatchMemory::Key key = MatchMemory::KeyOf(rule_, match);
    if (memory_.Contains(key)) return true;
    overflowed_ = matches_.size() == limit_;
    if (overflowed_) return false;
    memory_.Insert(key);
    matches_.push_back(std::move(match));
    return true;
  }

  bool overflowed() const { return overflowed_; }
  std::vector<Match> Take() { return std::move(matches_); }

 private:
  const size_t rule_;
  const size_t limit_;
  const StopCondition& stop_;
  MatchMemory& memory_;
  std::vector<Match> matches_;
  int64_t offered_ = 0;
  bool overflowed_ = false;
};

class Saturation {
 public:
  Saturation(EGraph& graph, std::span<const Rule* const> rules, const Limits& limits,
             const StopCondition& stop, const IterationHook& hook)
      : graph_(graph),
        rules_(rules),
        limits_(limits),
        stop_(stop),
        hook_(hook),
        matcher_(graph.table(), rules),
        backoff_(rules.size()) {
    outcome_.applied_by_rule.assign(rules.size(), 0);
  }

  absl::StatusOr<Outcome> ToEnd();

 private:
  // What a rule brings to an iteration: `count` of those that wait in the matcher's queue, or the
  // matches themselves.
  struct Found {
    size_t count = 0;
    std::vector<Match> matches;
  };

  StopReason Limit() const;
  std::vector<Found> Search();
  Found SearchAlone(size_t rule, size_t limit);
  absl::StatusOr<size_t> ApplySome(size_t rule, const Found& found, size_t done);
  absl::Status Told(const absl::Status& status);
  absl::Status Apply(const std::vector<Found>& found);
  absl::StatusOr<bool> MakeRoom();

  EGraph& graph_;
  const std::span<const Rule* const> rules_;
  const Limits& limits_;
  const StopCondition& stop_;
  const IterationHook& hook_;

  egraph::Matcher matcher_;
  MatchMemory memory_;  // of the rules that the matcher does not take
  Backoff backoff_;
  int64_t turn_ = 0;  // as iterations, but skips those in which all rules with work are banned
  Outcome outcome_;

  // Since the last Rebuild: the graph's size cannot be above this.
  int64_t clean_enodes_ = 0;
  uint32_t clean_bound_ = 0;
  int64_t enodes_at_most() const { return clean_enodes_ + (graph_.enode_bound() - clean_bound_); }
  absl::Status Rebuild() {
    QUOTIENT_RETURN_IF_ERROR(Told(graph_.Rebuild()));
    clean_enodes_ = graph_.num_enodes();
    clean_bound_ = graph_.enode_bound();
    return absl::OkStatus();
  }
};

absl::StatusOr<Outcome> Saturation::ToEnd() {
  QUOTIENT_RETURN_IF_ERROR(Rebuild());
  while (true) {
    outcome_.reason = Limit();
    if (outcome_.reason != StopReason::kNone) return outcome_;
    const std::vector<Found> found = Search();
    outcome_.reason = stop_.Check();
    if (outcome_.reason != StopReason::kNone) return outcome_;
    if (std::ranges::all_of(found, [](const Found& each) { return each.count == 0; })) {
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

StopReason Saturation::Limit() const {
  if (const StopReason reason = stop_.Check(); reason != StopReason::kNone) return reason;
  if (graph_.num_enodes() >= limits_.max_enodes) return StopReason::kNodeLimit;
  if (outcome_.iterations >= limits_.max_iterations) return StopReason::kIterations;
  return StopReason::kNone;
}

std::vector<Saturation::Found> Saturation::Search() {
  std::vector<Found> found(rules_.size());
  const size_t limit = static_cast<size_t>(std::max<int64_t>(limits_.max_matches_per_rule, 1));
  // One match more than the iteration takes tells that there are more.
  egraph::Matcher::Bounds bounds;
  for (size_t i = 0; i < rules_.size(); ++i) {
    bounds.waiting.push_back(backoff_.banned(i, turn_) ? 0 : backoff_.Scaled(i, limit) + 1);
  }
  bounds.may_go_on = [this] { return !stop_.ShouldStop(); };
  matcher_.Search(graph_, bounds);
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (backoff_.banned(i, turn_)) continue;
    if (stop_.ShouldStop()) break;
    if (!matcher_.takes(i)) {
      found[i] = SearchAlone(i, backoff_.Scaled(i, limit));
      continue;
    }
    const size_t waiting = matcher_.num_waiting(i);
    found[i].count = std::min(waiting, backoff_.Scaled(i, limit));
    if (waiting > found[i].count) backoff_.Ban(i, turn_);
  }
  return found;
}

Saturation::Found Saturation::SearchAlone(size_t rule, size_t limit) {
  NewMatches sink(rule, limit, stop_, memory_);
  rules_[rule]->Search(graph_, sink);
  if (sink.overflowed()) backoff_.Ban(rule, turn_);
  Found found;
  found.matches = sink.Take();
  found.count = found.matches.size();
  return found;
}

// Applies the next matches of the rule: as many as leave all rules room for as many, at least one.
// How many.
absl::StatusOr<size_t> Saturation::ApplySome(size_t rule, const Found& found, size_t done) {
  constexpr size_t kENodesPerMatch = 16;  // more than most right sides have
  size_t count = 1;
  absl::StatusOr<int64_t> changed;
  if (matcher_.takes(rule)) {
    const size_t room = static_cast<size_t>(limits_.max_enodes - enodes_at_most());
    count = std::clamp<size_t>(room / (kENodesPerMatch * rules_.size()), 1,
                               egraph::RightProgram::kMaxBatch);
    count = std::min(count, found.count - done);
    changed = matcher_.ApplyNext(graph_, rule, count);
  } else {
    changed = rules_[rule]->Apply(graph_, found.matches[done], static_cast<Origin>(rule + 1));
  }
  QUOTIENT_RETURN_IF_ERROR(Told(changed.status()));
  outcome_.matches_applied += *changed;
  outcome_.applied_by_rule[rule] += *changed;
  return count;
}

// A union that the analysis refuses means that a rule is wrong. It is told with what led to it,
// even if the rule takes it for one that did not fire.
absl::Status Saturation::Told(const absl::Status& status) {
  if (!graph_.refused_union().has_value()) return status;
  const egraph::UnionRecord refused = *graph_.refused_union();
  graph_.ForgetRefusedUnion();
  if (!graph_.records_proofs()) return status;
  const std::string text = egraph::RefusalText(graph_, rules_, refused);
  Log().error("{}", Escaped(text));
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), ": ", text));
}

// Sets the outcome's reason if the iteration had to end early.
absl::Status Saturation::Apply(const std::vector<Found>& found) {
  std::vector<size_t> done(rules_.size(), 0);
  int64_t steps = 0;
  for (bool more = true; more;) {
    more = false;
    for (size_t rule = 0; rule < rules_.size(); ++rule) {
      if (done[rule] == found[rule].count) continue;
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
      QUOTIENT_ASSIGN_OR_RETURN(const size_t applied, ApplySome(rule, found[rule], done[rule]));
      done[rule] += applied;
      more |= done[rule] < found[rule].count;
    }
  }
  return absl::OkStatus();
}

// At the node limit, congruence may show that some e-nodes are duplicates. Worth going on only if
// it frees a fair share, else the loop would rebuild for every match.
absl::StatusOr<bool> Saturation::MakeRoom() {
  QUOTIENT_RETURN_IF_ERROR(Rebuild());
  return clean_enodes_ < limits_.max_enodes - limits_.max_enodes / 16;
}

}  // namespace

absl::StatusOr<Outcome> Saturate::Run(EGraph& graph, std::span<const Rule* const> rules,
                                      const Limits& limits, const StopCondition& stop,
                                      const IterationHook& hook) const {
  return Saturation(graph, rules, limits, stop, hook).ToEnd();
}

}  // namespace quotient::search
