// Checkpoints of a tree search: writing, reading and resuming.

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/base/status_macros.h"
#include "core/search/mcts_search.h"

namespace quotient::search {

// Holds the lock only while serializing. Simulations under way are saved as such: the resumed
// search tries them again.
void MctsSearch::SaveCheckpoint() {
  if (task_.checkpoint == nullptr) return;
  FieldWriter stream;
  {
    absl::MutexLock lock(&mutex_);
    if (num_events_ == num_events_saved_ || !status_.ok()) return;
    num_events_saved_ = num_events_;
    stream.Real(progress_.seconds(), 0, kMostSeconds);
    VisitFields(stream);
  }
  task_.checkpoint->Save(SealCheckpoint(identity_, stream.Take()));
}

absl::Status MctsSearch::RestoreCheckpoint() {
  const std::string bytes = task_.checkpoint == nullptr ? "" : task_.checkpoint->Load();
  if (bytes.empty()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view content, OpenCheckpoint(identity_, bytes));
  absl::MutexLock lock(&mutex_);
  FieldReader stream(content);
  Outcome::Resumption& resumed = outcome_.resumed;
  stream.Real(resumed.seconds, 0, kMostSeconds);
  VisitFields(stream);
  if (!stream.done() || best_.improvements().empty() || !RestoreSimulations()) {
    return absl::DataLossError("its fields contradict each other");
  }
  ++resumed.times;
  resumed.simulations = progress_.simulations();
  progress_.AddSeconds(resumed.seconds);
  task_.stop = task_.stop.EarlierBy(resumed.seconds);
  num_events_saved_ = num_events_;
  is_resumed_ = true;
  return absl::OkStatus();
}

template <typename Stream>
void MctsSearch::VisitFields(Stream& stream) {
  bool saturated = outcome_.reason == StopReason::kSaturated;
  stream.Number(saturated, 1);
  if (saturated) outcome_.reason = StopReason::kSaturated;
  stream.Number(outcome_.resumed.times, kMostCounted);
  progress_.VisitSimulations(stream);
  best_.VisitImprovements(stream);
  window_.VisitNext(stream, kMostCounted);
  trees_.VisitCounts(stream);
  best_.VisitPath(stream, num_rules_);
  trees_.VisitTree(stream);
  for (int64_t s = window_.first(); s < window_.next(); ++s) {
    VisitSimulation(stream, window_.at(s));
  }
}

// Reads or writes a simulation. If it is not done, only what the selection wrote is stored, because
// its worker may be writing the result. The resumed search then tries the simulation again.
template <typename Stream>
void MctsSearch::VisitSimulation(Stream& stream, Simulation& simulation) {
  // Simulations of an earlier tree are dropped.
  bool used = simulation.used && simulation.tree == trees_.number();
  stream.Number(used, 1);
  if constexpr (std::is_same_v<Stream, FieldReader>) {
    simulation.used = used;
    simulation.tree = trees_.number();
    simulation.places = trees_.places();
  }
  if (!used) return;
  stream.Number(simulation.done, 1);
  SearchTree::Leaf& leaf = simulation.leaf;
  stream.List(leaf.edges, 1, [&stream](auto& edge) { stream.Number(edge, kMostIndex); });
  stream.Number(leaf.as_of, kMostCounted);
  bool opens = leaf.priors.has_value();
  stream.Number(opens, 1);
  if (opens && !leaf.priors.has_value()) leaf.priors = trees_.priors();
  if (opens && !simulation.done) return stream.Part(*leaf.priors);
  if (!opens) stream.Number(leaf.first_edge, kMostIndex);
  VisitActions(stream, leaf.tries, num_rules_);
  if (!simulation.done) return;
  stream.Word(simulation.opened.hash);
  VisitActions(stream, simulation.opened.actions, num_rules_);
  stream.List(simulation.states, 12, [&stream](auto& state) { VisitState(stream, state); });
  stream.List(simulation.seconds, 8, [&](auto& seconds) { stream.Real(seconds, 0, kMostSeconds); });
}

// Restores the simulations under way. False if they do not fit the rest of the checkpoint.
bool MctsSearch::RestoreSimulations() {
  for (int64_t s = window_.first(); s < window_.next(); ++s) {
    Simulation& simulation = window_.at(s);
    const size_t num_tries = simulation.leaf.tries.size();
    if (simulation.states.size() != simulation.seconds.size()) return false;
    if (simulation.done && simulation.states.size() != num_tries) return false;
    if (simulation.used && !trees_.tree().RestoreLeaf(&simulation.leaf)) return false;
    if (simulation.used && !simulation.done) window_.AddWaiting(&simulation);
    simulation.done |= !simulation.used;
  }
  return true;
}

absl::Status MctsSearch::PrepareResumed() {
  // This must complete even if time is up, since every path begins at the root.
  const StopCondition stop = task_.stop.WithoutDeadline();
  QUOTIENT_ASSIGN_OR_RETURN(const State root, walk_.GoTo({}, stop));
  SuccessiveTrees::Root opened = OpenRoot(root, stop);
  absl::MutexLock lock(&mutex_);
  trees_.SetRoot(std::move(opened));
  const bool as_it_was = prices_ == nullptr && root.cost == trees_.tree().root_cost();
  return as_it_was ? absl::OkStatus() : RevalueBest();
}

// Values the state at the end of the best path again and starts a new tree, keeping the priors.
// This is needed where costs have changed or may change, since checkpoints contain no bills.
absl::Status MctsSearch::RevalueBest() {
  const std::vector<Action> path = best_.TakePath();
  QUOTIENT_ASSIGN_OR_RETURN(const State best, walk_.GoTo(path, task_.stop.WithoutDeadline()));
  best_.Set({trees_.root(), {}, 0}, progress_.Now());
  best_.OfferLargest({best, path, walk_.seconds()}, progress_.Now());
  best_.AddContender(trees_.root().bill, {}, 0);
  // The checkpoint may say that the e-graph is saturated. That holds only if the best state is the
  // one that growing to the limit leads to.
  outcome_.reason = StopReason::kNone;
  if (best.saturated && path == PathToGrown()) {
    outcome_.reason = StopReason::kSaturated;
    best_.SetSaturated(path);
  }
  trees_.Restart(progress_.simulations());
  window_.Clear();
  num_events_ = num_events_saved_ = 0;
  return prices_ != nullptr && outcome_.reason == StopReason::kNone ? RegrowRoot()
                                                                    : absl::OkStatus();
}

// Grows the initial e-graph to the limit and settles it, as Prepare does where nothing is resumed.
// If there is no time for that, the best state of the interrupted search is the answer.
absl::Status MctsSearch::RegrowRoot() {
  QUOTIENT_ASSIGN_OR_RETURN(const State grown, walk_.GoTo(PathToGrown(), task_.stop));
  outcome_.reason = task_.stop.Check();
  if (outcome_.reason != StopReason::kNone) return absl::OkStatus();
  best_.OfferLargest({grown, PathToGrown(), walk_.seconds()}, progress_.Now());
  outcome_.reason = costs_.SettleLargest(walk_, task_.stop);
  return absl::OkStatus();
}

}  // namespace quotient::search
