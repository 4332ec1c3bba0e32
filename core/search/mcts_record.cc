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
    if (num_events_ == saved_ || !status_.ok()) return;
    saved_ = num_events_;
    stream.Real(Clock::System().SecondsSince(start_ns_), 0, kMostSeconds);
    VisitFields(stream);
  }
  task_.checkpoint->Save(SealCheckpoint(identity_, stream.Take()));
}

absl::Status MctsSearch::TakeUpCheckpoint() {
  const std::string bytes = task_.checkpoint == nullptr ? "" : task_.checkpoint->Load();
  if (bytes.empty()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view content, OpenCheckpoint(identity_, bytes));
  absl::MutexLock lock(&mutex_);
  FieldReader stream(content);
  Outcome::Resumption& resumed = outcome_.resumed;
  stream.Real(resumed.seconds, 0, kMostSeconds);
  VisitFields(stream);
  if (!stream.done() || outcome_.improvements.empty() || !TakeUpSlots()) {
    return absl::DataLossError("it makes no sense");
  }
  ++resumed.times;
  resumed.simulations = outcome_.simulations;
  start_ns_ -= static_cast<int64_t>(resumed.seconds * 1e9);
  task_.stop = task_.stop.EarlierBy(resumed.seconds);
  saved_ = num_events_;
  goes_on_ = true;
  return absl::OkStatus();
}

template <typename Stream>
void MctsSearch::VisitFields(Stream& stream) {
  bool saturated = outcome_.reason == StopReason::kSaturated;
  stream.Number(saturated, 1);
  if (saturated) outcome_.reason = StopReason::kSaturated;
  stream.Number(outcome_.resumed.times, kMostCounted);
  stream.Number(outcome_.simulations, kMostCounted);
  stream.List(outcome_.improvements, 17, [&stream](auto& improvement) {
    stream.Real(improvement.seconds, 0, kMostSeconds);
    stream.Number(improvement.simulations, kMostCounted);
    stream.Real(improvement.cost, -kAnyCost, kAnyCost);
  });
  stream.Number(next_, kMostCounted);
  stream.Number(num_restarts_, kMostCounted);
  stream.Number(last_restart_, kMostCounted);
  bool with_places = places_ == Walk::Places::kOfAllRules;
  stream.Number(with_places, 1);
  if (with_places) places_ = Walk::Places::kOfAllRules;
  stream.Number(num_states_, kMostCounted);
  VisitActions(stream, best_path_, num_rules_);
  stream.Real(seconds_to_best_, 0, kMostSeconds);
  stream.Part(priors_);
  stream.Part(tree_);
  for (int64_t i = first_slot(); i < next_; ++i) {
    VisitSlot(stream, slots_[i % MctsStrategy::kWindow]);
  }
}

// Stores a simulation. Of one that is not done only its selection is stored: the rest belongs to
// its worker, and the resumed search does it again.
template <typename Stream>
void MctsSearch::VisitSlot(Stream& stream, Slot& slot) {
  // Simulations of an earlier tree are dropped.
  bool used = slot.used && slot.tree == num_restarts_;
  stream.Number(used, 1);
  if constexpr (std::is_same_v<Stream, FieldReader>) {
    slot.used = used;
    slot.tree = num_restarts_;
    slot.places = places_;
  }
  if (!used) return;
  stream.Number(slot.done, 1);
  SearchTree::Leaf& leaf = slot.leaf;
  stream.List(leaf.edges, 1, [&stream](auto& edge) { stream.Number(edge, kMostIndex); });
  stream.Number(leaf.as_of, kMostCounted);
  bool opens = leaf.priors.has_value();
  stream.Number(opens, 1);
  if (opens && !leaf.priors.has_value()) leaf.priors = priors_;
  if (opens && !slot.done) return stream.Part(*leaf.priors);
  if (!opens) stream.Number(leaf.first_edge, kMostIndex);
  VisitActions(stream, leaf.tries, num_rules_);
  if (!slot.done) return;
  stream.Word(slot.opened.hash);
  VisitActions(stream, slot.opened.actions, num_rules_);
  stream.List(slot.states, 12, [&stream](auto& state) { VisitState(stream, state); });
  stream.List(slot.seconds, 8, [&](auto& seconds) { stream.Real(seconds, 0, kMostSeconds); });
}

// Restores the simulations under way. False if they do not fit the rest of the checkpoint.
bool MctsSearch::TakeUpSlots() {
  for (int64_t i = first_slot(); i < next_; ++i) {
    Slot& slot = slots_[i % MctsStrategy::kWindow];
    const size_t num_tried = slot.done ? slot.states.size() : slot.leaf.tries.size();
    if (num_tried != slot.leaf.tries.size() || slot.states.size() != slot.seconds.size()) {
      return false;
    }
    if (slot.used && !tree_.TakeUp(&slot.leaf)) return false;
    if (slot.used && !slot.done) waiting_.push_back(&slot);
    slot.done |= !slot.used;
  }
  return true;
}

absl::Status MctsSearch::PrepareToGoOn() {
  // This must complete even if time is up, since the way to the best state begins here.
  const StopCondition stop = task_.stop.WithoutDeadline();
  QUOTIENT_ASSIGN_OR_RETURN(root_, walk_.GoTo({}, stop));
  OpenRoot(stop);
  absl::MutexLock lock(&mutex_);
  const bool as_it_was = prices_ == nullptr && root_.cost == tree_.root_cost();
  return as_it_was ? absl::OkStatus() : ValueAnew();
}

// Values the best path again and starts a new tree, keeping the priors. Needed where costs have
// changed or may change: checkpoints contain no bills.
absl::Status MctsSearch::ValueAnew() {
  const std::vector<Action> path = std::move(best_path_);
  QUOTIENT_ASSIGN_OR_RETURN(const State best, walk_.GoTo(path, task_.stop.WithoutDeadline()));
  outcome_.improvements.clear();
  NoteBest(root_, {}, 0);
  NoteIfNoWorse(best, path);
  contenders_.Add(root_.bill, {}, 0);
  // The checkpoint may say that everything was found. That holds only if the best state is the one
  // that growing to the limit leads to.
  outcome_.reason = StopReason::kNone;
  if (best.saturated && path == std::vector{kGrowToTheLimit}) NoteAll(path);
  BeginAnew();
  slots_ = {};
  waiting_.clear();
  next_ = num_events_ = saved_ = 0;
  return absl::OkStatus();
}

}  // namespace quotient::search
