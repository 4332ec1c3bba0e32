#include "core/search/mcts.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/search/priors.h"
#include "core/search/search_tree.h"
#include "core/search/walk.h"

namespace quotient::search {
namespace {

// Simulations without gain after which a search begins anew, on top of as many as it had when it
// gained last.
constexpr int64_t kPatience = 2'000;
// Of a tree: they are kept in memory.
constexpr size_t kMaxStates = 200'000;

class Search {
 public:
  Search(Workspace& workspace, const Task& task)
      : task_(task),
        walk_(&workspace, &task.limits),
        priors_(workspace.rules().size(), task.seed),
        tree_(&priors_) {}

  absl::StatusOr<Outcome> ToEnd();

 private:
  // A simulation: at number % kWindow.
  struct Slot {
    bool used = false;  // there was something to try
    int64_t tree = 0;   // of which
    bool done = false;
    StopCondition stop;  // leaves the time that the way back to the best state takes
    SearchTree::Leaf leaf;
    SearchTree::Opened opened;
    std::vector<State> states;    // behind the edges
    std::vector<double> seconds;  // that it takes to come there
  };

  absl::Status Prepare();
  int64_t NumWorkers();
  void Work(Walk& walk);
  void WorkElsewhere();
  void Report() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next simulation; null when the search is at its end.
  Slot* Begin();
  void RestartIfStuck() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Try(Walk& walk, Slot& slot);
  absl::Status TryAll(Walk& walk, Slot& slot);
  absl::StatusOr<bool> Open(Walk& walk, Slot& slot);
  bool CanBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StopReason CheckEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeIn(Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  double BestCost() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outcome_.improvements.back().cost;
  }
  // To the best state, with what it takes to leave the present one and to value it.
  double SecondsBack() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return 2 * seconds_to_best_; }
  void NoteBest(double cost, std::vector<Action> path, double seconds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Task& task_;
  const int64_t start_ns_ = Clock::System().NowNs();

  Walk walk_;  // of the calling thread
  State root_;
  SearchTree::Opened opened_root_;
  absl::Mutex mutex_;
  Priors priors_ ABSL_GUARDED_BY(mutex_);
  SearchTree tree_ ABSL_GUARDED_BY(mutex_);
  std::array<Slot, MctsStrategy::kWindow> slots_;  // what is not done is its worker's
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;       // simulation
  int64_t num_restarts_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_restart_ ABSL_GUARDED_BY(mutex_) = 0;  // simulations then
  int64_t num_states_ ABSL_GUARDED_BY(mutex_) = 0;    // of earlier trees
  std::vector<Action> best_path_ ABSL_GUARDED_BY(mutex_);
  double seconds_to_best_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<double> cut_short_ ABSL_GUARDED_BY(mutex_);  // cost of where walk_ is, if so
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<Outcome> Search::ToEnd() {
  QUOTIENT_RETURN_IF_ERROR(Prepare());
  std::vector<std::thread> others;
  const int64_t num_workers = NumWorkers();
  for (int64_t i = 1; i < num_workers; ++i) others.emplace_back([this] { WorkElsewhere(); });
  Work(walk_);
  for (std::thread& other : others) other.join();
  absl::MutexLock lock(&mutex_);
  QUOTIENT_RETURN_IF_ERROR(status_);
  for (int64_t i = std::max<int64_t>(0, next_ - MctsStrategy::kWindow); i < next_; ++i) {
    TakeIn(slots_[i % MctsStrategy::kWindow]);
  }
  // What was cut short is where nobody comes again, but may be the best; of equals it holds more.
  if (!cut_short_.has_value() || *cut_short_ > BestCost()) {
    QUOTIENT_RETURN_IF_ERROR(walk_.GoTo(best_path_, task_.stop.WithoutDeadline()).status());
  } else if (*cut_short_ < BestCost()) {
    NoteBest(*cut_short_, {}, 0);
  }
  outcome_.applied_by_rule = walk_.AppliedByRule();
  walk_.Settle();
  for (const int64_t count : outcome_.applied_by_rule) outcome_.matches_applied += count;
  outcome_.states = num_states_ + static_cast<int64_t>(tree_.num_states());
  return outcome_;
}

int64_t Search::NumWorkers() {
  absl::MutexLock lock(&mutex_);
  if (outcome_.reason != StopReason::kNone) return 1;
  return std::min<int64_t>(task_.workers, MctsStrategy::kWindow);
}

// Before there are other threads. Where there is room for all that the rules can do, this is the
// end.
absl::Status Search::Prepare() {
  QUOTIENT_ASSIGN_OR_RETURN(root_, walk_.GoTo({}, task_.stop));
  absl::MutexLock lock(&mutex_);
  NoteBest(root_.cost, {}, 0);
  opened_root_ = {walk_.Hash(), walk_.Actions(task_.stop)};
  const std::vector<Action> grow = {{Action::Kind::kGrow, 0, Action::kToTheLimit}};
  if (!opened_root_.actions.empty()) {
    std::erase(opened_root_.actions, grow[0]);
    QUOTIENT_ASSIGN_OR_RETURN(const State grown, walk_.GoTo(grow, task_.stop));
    outcome_.reason = task_.stop.Check();
    if (outcome_.reason != StopReason::kNone) {
      cut_short_ = grown.cost;
    } else {
      ++outcome_.simulations;
      if (grown.saturated) outcome_.reason = StopReason::kSaturated;
      // With all that is in it, where it is no worse: costs that are only known later may differ.
      if (grown.cost < BestCost()) NoteBest(grown.cost, grow, walk_.seconds());
      if (grown.cost == BestCost()) best_path_ = grow;
    }
  }
  tree_.Reset(root_, opened_root_);
  return absl::OkStatus();
}

void Search::WorkElsewhere() {
  const absl::StatusOr<std::unique_ptr<Workspace>> workspace = task_.make_workspace();
  if (!workspace.ok()) return Fail(workspace.status());
  Walk walk(workspace->get(), &task_.limits);
  Work(walk);
}

void Search::Work(Walk& walk) {
  while (Slot* const slot = Begin()) {
    Try(walk, *slot);
    if (&walk == &walk_ && task_.hook) Report();
  }
}

void Search::Report() {
  mutex_.Lock();
  const Outcome so_far = outcome_;
  mutex_.Unlock();
  task_.hook(walk_.graph(), so_far);
}

bool Search::CanBegin() const {
  return outcome_.reason != StopReason::kNone || slots_[next_ % MctsStrategy::kWindow].done ||
         next_ < MctsStrategy::kWindow;
}

Search::Slot* Search::Begin() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &Search::CanBegin));
  if (outcome_.reason == StopReason::kNone) outcome_.reason = CheckEnd();
  if (outcome_.reason != StopReason::kNone) return nullptr;
  Slot& slot = slots_[next_ % MctsStrategy::kWindow];
  if (next_ >= MctsStrategy::kWindow) TakeIn(slot);
  // What was taken in may have been the last that was missing.
  if (outcome_.reason != StopReason::kNone) return nullptr;
  ++next_;
  slot.used = tree_.Select(&slot.leaf);
  slot.tree = num_restarts_;
  slot.stop = task_.stop.EarlierBy(SecondsBack());
  return &slot;
}

StopReason Search::CheckEnd() {
  const StopCondition stop = task_.stop.EarlierBy(SecondsBack());
  if (const StopReason reason = stop.Check(); reason != StopReason::kNone) return reason;
  if (outcome_.simulations >= task_.limits.max_simulations) return StopReason::kIterations;
  if (tree_.exhausted()) return StopReason::kSaturated;
  return StopReason::kNone;
}

void Search::TakeIn(Slot& slot) {
  if (!slot.done) return;
  slot.done = false;
  // Of an earlier tree it cannot be told any more what was known.
  if (!slot.used || slot.tree != num_restarts_) return;
  tree_.Observe(slot.leaf, slot.opened, slot.states);
  for (size_t i = 0; i < slot.states.size(); ++i) {
    ++outcome_.simulations;
    const State& state = slot.states[i];
    if (BestCost() > state.cost) {
      std::vector<Action> path = slot.leaf.path;
      path.push_back(slot.leaf.tries[i]);
      NoteBest(state.cost, path, slot.seconds[i]);
    }
    // All that there is is in this state.
    if (state.saturated) outcome_.reason = StopReason::kSaturated;
  }
  RestartIfStuck();
}

// A new tree from the root, with what was learnt of actions.
void Search::RestartIfStuck() {
  const int64_t since =
      outcome_.simulations - std::max(last_restart_, outcome_.improvements.back().simulations);
  const bool stuck = since > kPatience + outcome_.improvements.back().simulations;
  if (!stuck && tree_.num_states() < kMaxStates) return;
  num_states_ += static_cast<int64_t>(tree_.num_states());
  priors_.Shake();
  tree_.Reset(root_, opened_root_);
  last_restart_ = outcome_.simulations;
  ++num_restarts_;
}

void Search::Try(Walk& walk, Slot& slot) {
  slot.opened = {};
  slot.states.clear();
  slot.seconds.clear();
  if (slot.used) {
    if (const absl::Status tried = TryAll(walk, slot); !tried.ok()) return Fail(tried);
  }
  absl::MutexLock lock(&mutex_);
  const StopReason reason = slot.used ? slot.stop.Check() : StopReason::kNone;
  slot.done = reason == StopReason::kNone;
  if (slot.done) return;
  // Nobody need wait for the rest of it.
  if (outcome_.reason == StopReason::kNone) outcome_.reason = reason;
  if (&walk == &walk_) cut_short_ = walk_.here().cost;
}

// Goes along all edges of a slot, until time is up.
absl::Status Search::TryAll(Walk& walk, Slot& slot) {
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

// Finds out which state it is, and what to try in it if nobody knows it.
absl::StatusOr<bool> Search::Open(Walk& walk, Slot& slot) {
  QUOTIENT_RETURN_IF_ERROR(walk.GoTo(slot.leaf.path, slot.stop).status());
  slot.opened.hash = walk.Hash();
  {
    absl::MutexLock lock(&mutex_);
    // A restart has thrown the simulation away.
    if (slot.tree != num_restarts_ || tree_.Knows(slot.opened.hash, slot.leaf)) return false;
  }
  slot.opened.actions = walk.Actions(slot.stop);
  SearchTree::TakeTries(slot.opened, slot.leaf);
  return true;
}

void Search::NoteBest(double cost, std::vector<Action> path, double seconds) {
  best_path_ = std::move(path);
  seconds_to_best_ = seconds;
  outcome_.improvements.push_back(
      {Clock::System().SecondsSince(start_ns_), outcome_.simulations, cost});
}

void Search::Fail(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = status;
  outcome_.reason = StopReason::kCancelled;
}

}  // namespace

absl::StatusOr<Outcome> MctsStrategy::Run(Workspace& workspace, const Task& task) const {
  return Search(workspace, task).ToEnd();
}

}  // namespace quotient::search
