#include "core/search/mcts.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/search/mcts_search.h"

namespace quotient::search {
namespace {

// A search restarts after this many simulations without an improvement, plus as many as it had run
// at the last improvement.
constexpr int64_t kPatience = 2'000;
// Most states per tree, since they are kept in memory.
constexpr size_t kMaxStates = 200'000;
// Repricing visits all states, so it waits until there has been one simulation for this many
// states.
constexpr int64_t kRepricedPerSimulation = 64;
// Share of a search's time that is kept for measuring what is unknown about its best state, since
// an unmeasured state may look better than it is; and the most rounds of waiting.
constexpr double kShareOfWaiting = 0.2;
constexpr int kMostRounds = 40;

}  // namespace

absl::StatusOr<Outcome> MctsSearch::ToEnd() {
  QUOTIENT_RETURN_IF_ERROR(Prepare());
  // Callers see the resumed outcome before the first step.
  if (goes_on_ && task_.hook) Report();
  std::vector<std::thread> others;
  const int64_t num_workers = NumWorkers();
  for (int64_t i = 1; i < num_workers; ++i) others.emplace_back([this] { WorkElsewhere(); });
  Work(walk_);
  for (std::thread& other : others) other.join();
  SaveCheckpoint();
  absl::MutexLock lock(&mutex_);
  QUOTIENT_RETURN_IF_ERROR(status_);
  for (int64_t i = first_slot(); i < next_; ++i) {
    TakeIn(slots_[i % MctsStrategy::kWindow]);
  }
  SettleBest();
  if (!StaysWhereItWasCutShort()) {
    QUOTIENT_RETURN_IF_ERROR(walk_.GoTo(best_path_, task_.stop.WithoutDeadline()).status());
  } else if (cut_short_->cost < BestCost()) {
    NoteBest(*cut_short_, {}, 0);
  }
  outcome_.applied_by_rule = walk_.AppliedByRule();
  walk_.Settle();
  for (const int64_t count : outcome_.applied_by_rule) outcome_.matches_applied += count;
  outcome_.states = num_states_ + static_cast<int64_t>(tree_.num_states());
  return outcome_;
}

// Whether to stay in the state in which the calling thread was interrupted. No path leads to that
// state again, so it is kept if it is better than the best recorded state, or equal while costs may
// still change (it holds more alternatives).
bool MctsSearch::StaysWhereItWasCutShort() const {
  if (!cut_short_.has_value()) return false;
  return cut_short_->cost < BestCost() || (prices_ != nullptr && cut_short_->cost == BestCost());
}

int64_t MctsSearch::NumWorkers() {
  absl::MutexLock lock(&mutex_);
  if (outcome_.reason != StopReason::kNone) return 1;
  return std::min<int64_t>(task_.workers, MctsStrategy::kWindow);
}

// Values the initial state, grows it to the limit and sets up the tree, before other threads start.
// If everything that the rules can make fits, the search ends here.
absl::Status MctsSearch::Prepare() {
  if (goes_on_) return PrepareToGoOn();
  QUOTIENT_ASSIGN_OR_RETURN(root_, walk_.GoTo({}, task_.stop));
  absl::MutexLock lock(&mutex_);
  NoteBest(root_, {}, 0);
  OpenRoot(task_.stop);
  const std::vector<Action> grow = {kGrowToTheLimit};
  if (opened_root_.actions.empty()) {
    outcome_.reason = task_.stop.Check();
    if (outcome_.reason == StopReason::kNone && root_.full) {
      outcome_.reason = StopReason::kNodeLimit;
    }
    if (outcome_.reason == StopReason::kNone) NoteAll({});
  } else {
    QUOTIENT_ASSIGN_OR_RETURN(const State grown, walk_.GoTo(grow, task_.stop));
    outcome_.reason = task_.stop.Check();
    if (outcome_.reason != StopReason::kNone) {
      cut_short_ = grown;
    } else {
      ++outcome_.simulations;
      tree_.CountGrown(grown);
      NoteIfNoWorse(grown, grow);
      if (grown.saturated) NoteAll(grow);
    }
  }
  contenders_.Add(root_.bill, {}, 0);
  tree_.Reset(root_, opened_root_);
  return absl::OkStatus();
}

// Finds out what can be tried in the initial state. Growing to the limit is left out: Prepare has
// tried it.
void MctsSearch::OpenRoot(const StopCondition& stop) {
  const auto open = [&](Walk::Places places) {
    SearchTree::Opened opened = {walk_.Hash(), walk_.Actions(places, stop)};
    std::erase(opened.actions, kGrowToTheLimit);
    return opened;
  };
  opened_root_ = open(Walk::Places::kOfIndexedRules);
  opened_root_with_places_ = open(Walk::Places::kOfAllRules);
}

void MctsSearch::WorkElsewhere() {
  const absl::StatusOr<std::unique_ptr<Workspace>> workspace = task_.make_workspace();
  if (!workspace.ok()) return Fail(workspace.status());
  Walk walk(workspace->get(), &task_.limits);
  Work(walk);
}

void MctsSearch::Work(Walk& walk) {
  while (Slot* const slot = Begin(walk)) {
    Try(walk, *slot);
    if (&walk != &walk_) continue;
    if (task_.hook) Report();
    if (task_.checkpoint != nullptr && task_.checkpoint->Due()) SaveCheckpoint();
  }
}

void MctsSearch::Report() {
  mutex_.Lock();
  const Outcome so_far = outcome_;
  mutex_.Unlock();
  task_.hook(walk_.graph(), so_far);
}

bool MctsSearch::CanBegin() const {
  return outcome_.reason != StopReason::kNone || !waiting_.empty() || MaySelect();
}

MctsSearch::Slot* MctsSearch::Begin(const Walk& walk) {
  absl::MutexLock lock(&mutex_);
  for (;;) {
    mutex_.Await(absl::Condition(this, &MctsSearch::CanBegin));
    while (MaySelect()) Select();
    // After selecting has ended for any reason but time, the simulations already selected are still
    // tried. Otherwise their number would depend on the number of workers.
    const bool is_late =
        outcome_.reason == StopReason::kDeadline || outcome_.reason == StopReason::kCancelled;
    StopReason reason = is_late ? outcome_.reason : OutOfTime();
    if (reason == StopReason::kNone && waiting_.empty()) reason = outcome_.reason;
    if (reason != StopReason::kNone || !status_.ok()) {
      if (outcome_.reason == StopReason::kNone) outcome_.reason = reason;
      return nullptr;
    }
    if (!waiting_.empty()) return TakeNearest(walk);
  }
}

// Selects the next simulation.
void MctsSearch::Select() {
  // Another thread may be using walk_, but HasRulesFromScratch only reads what never changes.
  if (tree_.exhausted() && walk_.HasRulesFromScratch()) TryPlaces();
  outcome_.reason = CheckEnd();
  if (outcome_.reason != StopReason::kNone) return;
  Slot& slot = slots_[next_ % MctsStrategy::kWindow];
  if (next_ >= MctsStrategy::kWindow) TakeIn(slot);
  if (MayReprice()) Reprice();
  ++next_;
  ++num_events_;
  slot.used = tree_.Select(&slot.leaf);
  slot.tree = num_restarts_;
  slot.places = places_;
  slot.done = !slot.used;
  if (slot.used) waiting_.push_back(&slot);
}

// Takes the waiting simulation whose path shares the most steps with the walk's: paths are long,
// and the selected states lie close together.
MctsSearch::Slot* MctsSearch::TakeNearest(const Walk& walk) {
  const auto steps_taken = [&walk](const Slot* slot) { return walk.StepsTaken(slot->leaf.path); };
  const auto nearest = std::ranges::max_element(waiting_, {}, steps_taken);
  Slot* const slot = *nearest;
  waiting_.erase(nearest);
  slot->stop = task_.stop.EarlierBy(SecondsBack());
  return slot;
}

StopReason MctsSearch::OutOfTime() const {
  return task_.stop.EarlierBy(SecondsBack() + SecondsToSettle()).Check();
}

StopReason MctsSearch::CheckEnd() const {
  if (const StopReason reason = OutOfTime(); reason != StopReason::kNone) return reason;
  if (outcome_.simulations >= task_.limits.max_simulations) return StopReason::kIterations;
  if (tree_.exhausted()) return StopReason::kExhausted;
  return StopReason::kNone;
}

void MctsSearch::TakeIn(Slot& slot) {
  if (!slot.done) return;
  slot.done = false;
  // Results for an earlier tree are dropped: its nodes are gone.
  if (!std::exchange(slot.used, false) || slot.tree != num_restarts_) return;
  for (State& state : slot.states) BringUpToDate(state);
  tree_.Observe(slot.leaf, slot.opened, slot.states);
  for (size_t i = 0; i < slot.states.size(); ++i) {
    ++outcome_.simulations;
    const State& state = slot.states[i];
    if (BestCost() <= state.cost && !contenders_.Wants(state.bill)) continue;
    std::vector<Action> path = slot.leaf.path;
    path.push_back(slot.leaf.tries[i]);
    contenders_.Add(state.bill, path, slot.seconds[i]);
    if (BestCost() > state.cost) NoteBest(state, path, slot.seconds[i]);
  }
  RestartIfStuck();
}

// Records that the state at the end of the path contains everything that the rules can make. It is
// either the initial state or what growing makes of it.
void MctsSearch::NoteAll(const std::vector<Action>& path) {
  outcome_.reason = StopReason::kSaturated;
  if (prices_ != nullptr) to_all_ = best_path_ = path;
}

// Reprices a state that was valued before prices changed. No state costs more than the root, whose
// best graph is contained in all of them.
void MctsSearch::BringUpToDate(State& state) const {
  if (repriced_) state.cost = std::min(CostNow(state.bill, state.cost), root_.cost);
}

bool MctsSearch::MayReprice() const {
  const int64_t since = outcome_.simulations - last_repricing_;
  return since >= static_cast<int64_t>(tree_.num_states()) / kRepricedPerSimulation;
}

// Updates all remembered costs if measurements have arrived. Another state may then be the best.
void MctsSearch::Reprice() {
  if (prices_ == nullptr || !prices_->HasNews() || !prices_->Update()) return;
  repriced_ = true;
  last_repricing_ = outcome_.simulations;
  root_.cost = CostNow(root_.bill, root_.cost);
  tree_.Reprice([this](BillId bill) { return prices_->CostOf(bill); });
  if (cut_short_.has_value()) BringUpToDate(*cut_short_);
  for (Improvement& step : outcome_.improvements) step.cost = CostNow(step.bill, step.cost);
  const Contenders::Contender* const best = contenders_.Best();
  if (best == nullptr) return;
  const double cost = prices_->CostOf(best->bill);
  if (cost < BestCost()) NoteBest({.cost = cost, .bill = best->bill}, best->path, best->seconds);
}

// Waits for the missing costs of the best state until they are known or time is up. Called after
// the other threads have ended, so no search time is lost.
void MctsSearch::SettleBest() {
  if (prices_ == nullptr) return;
  if (to_all_.has_value()) {
    best_path_ = *to_all_;
    return Reprice();
  }
  for (int round = 0; round < kMostRounds && !prices_->BestIsKnown(); ++round) {
    const StopCondition stop = task_.stop.EarlierBy(SecondsBack());
    if (stop.ShouldStop()) break;
    prices_->AwaitBest(stop);
    Reprice();
  }
  Reprice();
}

// Time to reserve for SettleBest. Where costs are known, all time is for searching.
double MctsSearch::SecondsToSettle() const {
  if (prices_ == nullptr || prices_->BestIsKnown()) return 0;
  return kShareOfWaiting / (1 - kShareOfWaiting) * Clock::System().SecondsSince(start_ns_);
}

// Restarts from the root if the search is stuck or the tree is full. The priors are kept.
void MctsSearch::RestartIfStuck() {
  const int64_t since =
      outcome_.simulations - std::max(last_restart_, outcome_.improvements.back().simulations);
  const bool stuck = since > kPatience + outcome_.improvements.back().simulations;
  if (!stuck && tree_.num_states() < kMaxStates) return;
  priors_.Shake();
  BeginAnew();
}

// Starts a new tree that also tries places of rules that search from scratch, once everything else
// has been tried.
void MctsSearch::TryPlaces() {
  if (places_ == Walk::Places::kOfAllRules) return;
  places_ = Walk::Places::kOfAllRules;
  BeginAnew();
}

void MctsSearch::BeginAnew() {
  num_states_ += static_cast<int64_t>(tree_.num_states());
  tree_.Reset(root_,
              places_ == Walk::Places::kOfAllRules ? opened_root_with_places_ : opened_root_);
  for (Slot* const slot : waiting_) {
    slot->used = false;
    slot->done = true;
  }
  waiting_.clear();
  last_restart_ = outcome_.simulations;
  ++num_restarts_;
}

void MctsSearch::Try(Walk& walk, Slot& slot) {
  slot.opened = {};
  slot.states.clear();
  slot.seconds.clear();
  if (const absl::Status tried = TryAll(walk, slot); !tried.ok()) return Fail(tried);
  absl::MutexLock lock(&mutex_);
  const StopReason reason = slot.stop.Check();
  slot.done = reason == StopReason::kNone;
  ++num_events_;
  if (slot.done) return;
  // The simulation will not be completed; with a reason set, no worker waits for it.
  if (outcome_.reason == StopReason::kNone) outcome_.reason = reason;
  if (&walk == &walk_) cut_short_ = walk_.here();
}

// Tries all actions of a slot until time is up.
absl::Status MctsSearch::TryAll(Walk& walk, Slot& slot) {
  if (slot.leaf.priors.has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool is_new, Open(walk, slot));
    if (!is_new) return absl::OkStatus();
  }
  std::vector<Action> path = slot.leaf.path;
  for (const Action action : slot.leaf.tries) {
    path.resize(slot.leaf.path.size());
    path.push_back(action);
    QUOTIENT_ASSIGN_OR_RETURN(const State state, walk.GoTo(path, slot.stop));
    if (slot.stop.ShouldStop()) break;
    slot.states.push_back(state);
    slot.seconds.push_back(walk.seconds());
  }
  return absl::OkStatus();
}

// Identifies the state at the slot's node, and lists its actions unless the state is known. Returns
// whether it is new.
absl::StatusOr<bool> MctsSearch::Open(Walk& walk, Slot& slot) {
  QUOTIENT_RETURN_IF_ERROR(walk.GoTo(slot.leaf.path, slot.stop).status());
  slot.opened.hash = walk.Hash();
  {
    absl::MutexLock lock(&mutex_);
    // After a restart the result would be dropped.
    if (slot.tree != num_restarts_ || tree_.Knows(slot.opened.hash, slot.leaf)) return false;
  }
  slot.opened.actions = walk.Actions(slot.places, slot.stop);
  SearchTree::TakeTries(slot.opened, slot.leaf);
  return true;
}

void MctsSearch::NoteBest(const State& state, std::vector<Action> path, double seconds) {
  best_path_ = std::move(path);
  seconds_to_best_ = seconds;
  outcome_.improvements.push_back(
      {Clock::System().SecondsSince(start_ns_), outcome_.simulations, state.cost, state.bill});
}

// A state that contains everything replaces a best state of equal cost, since costs that become
// known later may differ.
void MctsSearch::NoteIfNoWorse(const State& state, const std::vector<Action>& path) {
  if (state.cost < BestCost()) NoteBest(state, path, walk_.seconds());
  if (state.cost == BestCost()) best_path_ = path;
  contenders_.Add(state.bill, path, walk_.seconds());
}

void MctsSearch::Fail(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = status;
  outcome_.reason = StopReason::kCancelled;
}

absl::StatusOr<Outcome> MctsStrategy::Run(Workspace& workspace, const Task& task) const {
  auto search = std::make_unique<MctsSearch>(workspace, task);
  if (const absl::Status status = search->TakeUpCheckpoint(); !status.ok()) {
    Log().warn("a checkpoint is of no use: {}", std::string(status.message()));
    search = std::make_unique<MctsSearch>(workspace, task);
    search->NoteRefusal(status.message());
  }
  return search->ToEnd();
}

}  // namespace quotient::search
