// A search first grows the initial e-graph to the limit. If everything that the rules can make
// fits, that e-graph is the answer. Otherwise workers, each with a walk of its own, repeat these
// steps until nothing may be selected any more:
//
//   1. Give way to measurements that computing would disturb. Wait until a simulation may be
//      selected or a selected one waits.
//   2. Select as many as the window admits. Before simulation s is selected, the result of
//      simulation s - kSize is added to the tree, so the order does not depend on the workers.
//   3. Take the waiting simulation that is nearest to the worker's walk.
//   4. Try it, without the lock: go to its node, open that if it is new, and value the states that
//      its actions lead to.
//   5. Mark it done, or end the search if time ran out meanwhile.
//   6. On the calling thread only: report progress, and leave a checkpoint if one is due.
//
// In the end the calling thread adds the results that are not in the tree yet, waits for the
// missing costs of the best state, and walks there.
//
// Where costs are being measured, the grown e-graph is settled before the loop begins, and the
// search ends in it unless a state that is known to be cheaper was found. So its answer is never
// dearer, by the same prices, than that of growing alone, the strategy `saturate`.

#include "core/search/mcts.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/search/mcts_search.h"

namespace quotient::search {
namespace {

// If time is up while the initial e-graph grows, the state that it has reached is valued
// nevertheless, which may take so many seconds more.
constexpr double kExtraSeconds = 1;

}  // namespace

MctsSearch::MctsSearch(Workspace& workspace, const Task& task)
    : task_(task),
      identity_(task.checkpoint == nullptr ? Digest() : SearchIdentity("mcts", workspace, task)),
      num_rules_(workspace.rules().size()),
      prices_(workspace.prices()),
      progress_(&task.clock),
      trees_(workspace.rules().size(), task.seed),
      best_(prices_),
      costs_(prices_, &progress_, &trees_, &best_),
      walk_(&workspace, &task.limits, &task.clock) {}

absl::StatusOr<Outcome> MctsSearch::Run() {
  QUOTIENT_RETURN_IF_ERROR(Prepare());
  // Callers see the resumed outcome before the first step.
  if (is_resumed_ && task_.hook) Report();
  std::vector<std::thread> others;
  const int64_t num_workers = NumWorkers();
  for (int64_t i = 1; i < num_workers; ++i) others.emplace_back([this] { RunWorkerThread(); });
  Work(walk_);
  for (std::thread& other : others) other.join();
  SaveCheckpoint();
  return Finish();
}

// Values the initial state, grows it to the limit and sets up the tree, before other threads start.
// If everything that the rules can make fits, the search ends here. Where costs are being measured,
// the grown state is settled before anything else is tried.
absl::Status MctsSearch::Prepare() {
  if (is_resumed_) return PrepareResumed();
  QUOTIENT_ASSIGN_OR_RETURN(const State root, walk_.GoTo({}, task_.stop));
  absl::MutexLock lock(&mutex_);
  best_.Set({root, {}, 0}, progress_.Now());
  SuccessiveTrees::Root opened = OpenRoot(root, task_.stop);
  const bool has_actions = !opened.opened.actions.empty();
  trees_.SetRoot(std::move(opened));
  if (!has_actions) {
    outcome_.reason = task_.stop.Check();
    if (outcome_.reason == StopReason::kNone && root.full) {
      outcome_.reason = StopReason::kNodeLimit;
    }
    if (outcome_.reason == StopReason::kNone) {
      outcome_.reason = StopReason::kSaturated;
      best_.SetSaturated({});
    }
  } else {
    QUOTIENT_RETURN_IF_ERROR(GrowRoot());
  }
  best_.AddContender(root.bill, {}, 0);
  trees_.Begin();
  if (outcome_.reason == StopReason::kNone) {
    outcome_.reason = costs_.SettleLargest(walk_, task_.stop);
  }
  return absl::OkStatus();
}

// Grows the initial e-graph to the limit.
absl::Status MctsSearch::GrowRoot() {
  QUOTIENT_ASSIGN_OR_RETURN(const State grown, walk_.GoTo(PathToGrown(), task_.stop));
  outcome_.reason = task_.stop.Check();
  if (outcome_.reason != StopReason::kNone) {
    const StopCondition more = task_.stop.WithoutDeadline().WithBudget(task_.clock, kExtraSeconds);
    best_.InterruptInLargest(walk_.Revalue(more));
    return absl::OkStatus();
  }
  progress_.CountSimulation();
  trees_.tree().CountGrown(grown);
  best_.OfferLargest({grown, PathToGrown(), walk_.seconds()}, progress_.Now());
  if (grown.saturated) {
    outcome_.reason = StopReason::kSaturated;
    best_.SetSaturated(PathToGrown());
  }
  return absl::OkStatus();
}

// Finds out what can be tried in the initial state. Growing to the limit is left out: Prepare has
// tried it.
SuccessiveTrees::Root MctsSearch::OpenRoot(const State& root, const StopCondition& stop) {
  const auto open = [&](Walk::Places places) {
    SearchTree::Opened opened = {walk_.Hash(), walk_.Actions(places, stop)};
    std::erase(opened.actions, kGrowToTheLimit);
    return opened;
  };
  return {root, open(Walk::Places::kOfPatterns), open(Walk::Places::kOfAllRules)};
}

int64_t MctsSearch::NumWorkers() {
  absl::MutexLock lock(&mutex_);
  if (outcome_.reason != StopReason::kNone) return 1;
  return std::min<int64_t>(task_.workers, SimulationWindow::kSize);
}

// Ends the search in its best state. The other threads have ended.
absl::StatusOr<Outcome> MctsSearch::Finish() {
  absl::MutexLock lock(&mutex_);
  QUOTIENT_RETURN_IF_ERROR(status_);
  for (int64_t s = window_.first(); s < window_.next(); ++s) AddResult(window_.at(s));
  costs_.SettleBest(task_.stop);
  if (best_.PrefersInterrupted()) {
    best_.OfferInterrupted(progress_.Now());
  } else {
    QUOTIENT_RETURN_IF_ERROR(walk_.GoTo(best_.path(), task_.stop.WithoutDeadline()).status());
  }
  outcome_.by_rule = walk_.CountsByRule();
  walk_.Commit();
  for (const RuleCounts& counts : outcome_.by_rule) outcome_.matches_applied += counts.changed;
  outcome_.states = trees_.num_states();
  return OutcomeSoFar();
}

Outcome MctsSearch::OutcomeSoFar() const {
  Outcome outcome = outcome_;
  outcome.improvements = best_.improvements();
  outcome.simulations = progress_.simulations();
  return outcome;
}

void MctsSearch::Report() {
  mutex_.Lock();
  const Outcome so_far = OutcomeSoFar();
  mutex_.Unlock();
  task_.hook(walk_.graph(), so_far);
}

void MctsSearch::RunWorkerThread() {
  const absl::StatusOr<std::unique_ptr<Workspace>> workspace = task_.make_workspace();
  if (!workspace.ok()) return Fail(workspace.status());
  Walk walk(workspace->get(), &task_.limits, &task_.clock);
  Work(walk);
}

// The loop at the head of this file.
void MctsSearch::Work(Walk& walk) {
  while (Simulation* const simulation = NextSimulation(walk)) {  // 1 to 3.
    Try(walk, *simulation);                                      // 4 and 5.
    if (&walk != &walk_) continue;
    if (task_.hook) Report();  // 6.
    if (task_.checkpoint != nullptr && task_.checkpoint->Due()) SaveCheckpoint();
  }
}

// Blocks while costs are being measured that a simulation would disturb.
void MctsSearch::GiveWay() {
  if (prices_ == nullptr) return;
  mutex_.Lock();
  const StopCondition end = EndOfSimulations();
  mutex_.Unlock();
  prices_->GiveWay(end);
}

// Returns a simulation for the walk to try; null when the search has ended.
Simulation* MctsSearch::NextSimulation(const Walk& walk) {
  GiveWay();
  absl::MutexLock lock(&mutex_);
  for (;;) {
    mutex_.Await(absl::Condition(this, &MctsSearch::CanProceed));  // 1.
    while (MaySelect()) Select();                                  // 2.
    // After selecting has ended for any reason but time, the simulations already selected are still
    // tried. Otherwise their number would depend on the number of workers.
    const bool is_late =
        outcome_.reason == StopReason::kDeadline || outcome_.reason == StopReason::kCancelled;
    StopReason reason = is_late ? outcome_.reason : CheckTime();
    if (reason == StopReason::kNone && !window_.has_waiting()) reason = outcome_.reason;
    if (reason != StopReason::kNone || !status_.ok()) {
      if (outcome_.reason == StopReason::kNone) outcome_.reason = reason;
      return nullptr;
    }
    if (!window_.has_waiting()) continue;
    Simulation* const nearest = window_.TakeNearest(walk);  // 3.
    nearest->stop = task_.stop.EarlierBy(best_.SecondsToGoThere());
    return nearest;
  }
}

// Selects the next simulation.
void MctsSearch::Select() {
  // Another thread may be using walk_, but HasRulesBesidePatterns only reads what never changes.
  if (trees_.tree().exhausted() && walk_.HasRulesBesidePatterns() &&
      trees_.TryPlaces(progress_.simulations())) {
    window_.DropWaiting();
  }
  outcome_.reason = CheckEnd();
  if (outcome_.reason != StopReason::kNone) return;
  if (window_.next() >= SimulationWindow::kSize) AddResult(window_.at(window_.next()));
  costs_.RepriceIfDue();
  Simulation& simulation = window_.Begin();
  ++num_events_;
  simulation.used = trees_.tree().Select(&simulation.leaf);
  simulation.tree = trees_.number();
  simulation.places = trees_.places();
  simulation.done = !simulation.used;
  if (simulation.used) window_.AddWaiting(&simulation);
}

// Adds the result of a simulation to the tree, if it is done.
void MctsSearch::AddResult(Simulation& simulation) {
  if (!simulation.done) return;
  simulation.done = false;
  // Results for an earlier tree are dropped: its nodes are gone.
  if (!std::exchange(simulation.used, false) || simulation.tree != trees_.number()) return;
  for (State& state : simulation.states) costs_.RepriceState(state);
  trees_.tree().Observe(simulation.leaf, simulation.opened, simulation.states);
  for (size_t i = 0; i < simulation.states.size(); ++i) {
    progress_.CountSimulation();
    const State& state = simulation.states[i];
    if (!best_.Wants(state)) continue;
    std::vector<Action> path = simulation.leaf.path;
    path.push_back(simulation.leaf.tries[i]);
    best_.Offer({state, std::move(path), simulation.seconds[i]}, progress_.Now());
  }
  const int64_t last_improvement = best_.improvements().back().simulations;
  if (trees_.RestartIfStuck(progress_.simulations(), last_improvement)) window_.DropWaiting();
}

StopReason MctsSearch::CheckTime() const { return EndOfSimulations().Check(); }

// When no simulation may begin any more: what comes after them takes time, too.
StopCondition MctsSearch::EndOfSimulations() const {
  return task_.stop.EarlierBy(best_.SecondsToGoThere() + costs_.SecondsToSettleBest());
}

StopReason MctsSearch::CheckEnd() const {
  if (const StopReason reason = CheckTime(); reason != StopReason::kNone) return reason;
  if (progress_.simulations() >= task_.limits.max_simulations) return StopReason::kIterations;
  if (trees_.tree().exhausted()) return StopReason::kExhausted;
  return StopReason::kNone;
}

void MctsSearch::Try(Walk& walk, Simulation& simulation) {
  simulation.opened = {};
  simulation.states.clear();
  simulation.seconds.clear();
  if (const absl::Status tried = TryAll(walk, simulation); !tried.ok()) return Fail(tried);
  absl::MutexLock lock(&mutex_);
  const StopReason reason = simulation.stop.Check();
  simulation.done = reason == StopReason::kNone;
  ++num_events_;
  if (simulation.done) return;
  // This simulation will not be completed. Setting a reason ends the search, so that no worker
  // waits for the result.
  if (outcome_.reason == StopReason::kNone) outcome_.reason = reason;
  if (&walk == &walk_) {
    best_.Interrupt(std::isinf(walk_.state().cost) ? walk_.Revalue(simulation.stop)
                                                   : walk_.state());
  }
}

// Tries all actions of a simulation until time is up.
absl::Status MctsSearch::TryAll(Walk& walk, Simulation& simulation) {
  if (simulation.leaf.priors.has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool is_new, Open(walk, simulation));
    if (!is_new) return absl::OkStatus();
  }
  std::vector<Action> path = simulation.leaf.path;
  for (const Action action : simulation.leaf.tries) {
    path.resize(simulation.leaf.path.size());
    path.push_back(action);
    QUOTIENT_RETURN_IF_ERROR(walk.MoveTo(path, simulation.stop));
    State state = walk.state();
    if (state.changed) {
      state = walk.Revalue(simulation.stop);
    } else {
      state.cost = simulation.leaf.cost;
      state.bill = simulation.leaf.bill;
    }
    if (simulation.stop.ShouldStop()) break;
    simulation.states.push_back(state);
    simulation.seconds.push_back(walk.seconds());
  }
  return absl::OkStatus();
}

// Identifies the state at the simulation's node, and lists its actions unless the state is known.
// Returns whether it is new.
absl::StatusOr<bool> MctsSearch::Open(Walk& walk, Simulation& simulation) {
  SearchTree::Leaf& leaf = simulation.leaf;
  // Its cost is known since it became a node.
  QUOTIENT_RETURN_IF_ERROR(walk.MoveTo(leaf.path, simulation.stop));
  simulation.opened.hash = walk.Hash();
  {
    absl::MutexLock lock(&mutex_);
    // After a restart the result would be dropped.
    if (simulation.tree != trees_.number()) return false;
    if (trees_.tree().Knows(simulation.opened.hash, leaf)) return false;
  }
  simulation.opened.actions = walk.Actions(simulation.places, simulation.stop);
  SearchTree::SelectTries(simulation.opened, leaf);
  return true;
}

void MctsSearch::Fail(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = status;
  outcome_.reason = StopReason::kCancelled;
}

absl::StatusOr<Outcome> MctsStrategy::Run(Workspace& workspace, const Task& task) const {
  auto search = std::make_unique<MctsSearch>(workspace, task);
  if (const absl::Status status = search->RestoreCheckpoint(); !status.ok()) {
    Log().warn("a checkpoint is of no use: {}", std::string(status.message()));
    search = std::make_unique<MctsSearch>(workspace, task);
    search->NoteRefusal(status.message());
  }
  return search->Run();
}

}  // namespace quotient::search
