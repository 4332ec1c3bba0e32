// One class, and how it is stored: that is all of its fields, so it is told here and not elsewhere.

#include "core/search/mcts.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/search/checkpoint.h"
#include "core/search/contenders.h"
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
// Costs are brought up to date when there were simulations for it: this many states for each.
constexpr int64_t kRepricedPerSimulation = 64;
// Of the time that a search takes, a part to wait for what is not known of its best state: what is
// not known may look better than it is. In so many rounds at most.
constexpr double kShareOfWaiting = 0.2;
constexpr int kMostRounds = 40;
constexpr Action kGrowToTheLimit = {Action::Kind::kGrow, 0, Action::kToTheLimit};

class Search {
 public:
  Search(Workspace& workspace, const Task& task)
      : task_(task),
        identity_(task.checkpoint == nullptr ? Digest() : SearchIdentity("mcts", workspace, task)),
        num_rules_(workspace.rules().size()),
        prices_(workspace.prices()),
        walk_(&workspace, &task.limits),
        priors_(workspace.rules().size(), task.seed),
        tree_(&priors_),
        contenders_(prices_) {}

  // What was left by one that was interrupted, if there is anything. After an error this one is of
  // no use.
  absl::Status TakeUpCheckpoint();
  void NoteRefusal(absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    outcome_.checkpoint_refused = std::string(why);
  }

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
  absl::Status PrepareToGoOn();
  absl::Status ValueAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SaveCheckpoint() ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Stream>
  void VisitFields(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Stream>
  void VisitSlot(Stream& stream, Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeUpSlots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t first_slot() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::max<int64_t>(0, next_ - MctsStrategy::kWindow);
  }
  int64_t NumWorkers();
  void Work(Walk& walk);
  void WorkElsewhere();
  void Report() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next simulation; null when the search is at its end.
  Slot* Begin();
  void RestartIfStuck() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Try(Walk& walk, Slot& slot);
  absl::Status TryAll(Walk& walk, Slot& slot);
  absl::StatusOr<bool> Open(Walk& walk, Slot& slot);
  bool CanBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StopReason CheckEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeIn(Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayReprice() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Reprice() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleBest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double SecondsToSettle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteAll(const std::vector<Action>& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BringUpToDate(State& state) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What was so much when it was valued.
  double CostNow(BillId bill, double cost) const {
    return bill.valid() ? prices_->CostOf(bill) : cost;
  }
  void Fail(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  double BestCost() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outcome_.improvements.back().cost;
  }
  // To the best state, with what it takes to leave the present one and to value it.
  double SecondsBack() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return 2 * seconds_to_best_; }
  void NoteBest(const State& state, std::vector<Action> path, double seconds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of where walk_ is.
  void NoteIfNoWorse(const State& state, const std::vector<Action>& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Task task_;  // of a search that goes on: with what is left of its time
  const Digest identity_;
  const size_t num_rules_;
  Prices* const prices_;  // null: they never change
  int64_t start_ns_ = Clock::System().NowNs();
  bool goes_on_ = false;  // from a checkpoint

  Walk walk_;  // of the calling thread
  State root_;
  SearchTree::Opened opened_root_;
  absl::Mutex mutex_;
  Priors priors_ ABSL_GUARDED_BY(mutex_);
  SearchTree tree_ ABSL_GUARDED_BY(mutex_);
  std::array<Slot, MctsStrategy::kWindow> slots_;     // what is not done is its worker's
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;          // simulation
  int64_t saved_ ABSL_GUARDED_BY(mutex_) = 0;         // what that was in the last checkpoint
  std::vector<Slot*> again_ ABSL_GUARDED_BY(mutex_);  // under way then: the last first
  int64_t num_restarts_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_restart_ ABSL_GUARDED_BY(mutex_) = 0;  // simulations then
  int64_t num_states_ ABSL_GUARDED_BY(mutex_) = 0;    // of earlier trees
  std::vector<Action> best_path_ ABSL_GUARDED_BY(mutex_);
  double seconds_to_best_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<State> cut_short_ ABSL_GUARDED_BY(mutex_);  // where walk_ is, if so
  Contenders contenders_ ABSL_GUARDED_BY(mutex_);           // if prices change
  bool repriced_ ABSL_GUARDED_BY(mutex_) = false;           // ever
  int64_t last_repricing_ ABSL_GUARDED_BY(mutex_) = 0;      // simulations then
  // To a state with all that there is: whatever things cost, the best is in it.
  std::optional<std::vector<Action>> to_all_ ABSL_GUARDED_BY(mutex_);
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
  SaveCheckpoint();
  absl::MutexLock lock(&mutex_);
  QUOTIENT_RETURN_IF_ERROR(status_);
  for (int64_t i = first_slot(); i < next_; ++i) {
    TakeIn(slots_[i % MctsStrategy::kWindow]);
  }
  SettleBest();
  // What was cut short is where nobody comes again, but may be the best; of equals it holds more.
  if (!cut_short_.has_value() || cut_short_->cost > BestCost()) {
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

int64_t Search::NumWorkers() {
  absl::MutexLock lock(&mutex_);
  if (outcome_.reason != StopReason::kNone) return 1;
  return std::min<int64_t>(task_.workers, MctsStrategy::kWindow);
}

// Before there are other threads. Where there is room for all that the rules can do, this is the
// end.
absl::Status Search::Prepare() {
  if (goes_on_) return PrepareToGoOn();
  QUOTIENT_ASSIGN_OR_RETURN(root_, walk_.GoTo({}, task_.stop));
  absl::MutexLock lock(&mutex_);
  NoteBest(root_, {}, 0);
  opened_root_ = {walk_.Hash(), walk_.Actions(task_.stop)};
  const std::vector<Action> grow = {kGrowToTheLimit};
  if (!opened_root_.actions.empty()) {
    std::erase(opened_root_.actions, kGrowToTheLimit);
    QUOTIENT_ASSIGN_OR_RETURN(const State grown, walk_.GoTo(grow, task_.stop));
    outcome_.reason = task_.stop.Check();
    if (outcome_.reason != StopReason::kNone) {
      cut_short_ = grown;
    } else {
      ++outcome_.simulations;
      NoteIfNoWorse(grown, grow);
      if (grown.saturated) NoteAll(grow);
    }
  }
  contenders_.Add(root_.bill, {}, 0);
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
    if (&walk != &walk_) continue;
    if (task_.hook) Report();
    if (task_.checkpoint != nullptr && task_.checkpoint->Due()) SaveCheckpoint();
  }
}

void Search::Report() {
  mutex_.Lock();
  const Outcome so_far = outcome_;
  mutex_.Unlock();
  task_.hook(walk_.graph(), so_far);
}

bool Search::CanBegin() const {
  return outcome_.reason != StopReason::kNone || !again_.empty() ||
         slots_[next_ % MctsStrategy::kWindow].done || next_ < MctsStrategy::kWindow;
}

Search::Slot* Search::Begin() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &Search::CanBegin));
  if (outcome_.reason == StopReason::kNone) outcome_.reason = CheckEnd();
  if (outcome_.reason != StopReason::kNone) return nullptr;
  if (!again_.empty()) {
    Slot* const slot = again_.back();
    again_.pop_back();
    slot->stop = task_.stop.EarlierBy(SecondsBack());
    return slot;
  }
  Slot& slot = slots_[next_ % MctsStrategy::kWindow];
  if (next_ >= MctsStrategy::kWindow) TakeIn(slot);
  if (MayReprice()) Reprice();
  // What was taken in may have been the last that was missing.
  if (outcome_.reason != StopReason::kNone) return nullptr;
  ++next_;
  slot.used = tree_.Select(&slot.leaf);
  slot.tree = num_restarts_;
  slot.stop = task_.stop.EarlierBy(SecondsBack());
  return &slot;
}

StopReason Search::CheckEnd() {
  const StopCondition stop = task_.stop.EarlierBy(SecondsBack() + SecondsToSettle());
  if (const StopReason reason = stop.Check(); reason != StopReason::kNone) return reason;
  if (!again_.empty()) return StopReason::kNone;
  if (outcome_.simulations >= task_.limits.max_simulations) return StopReason::kIterations;
  if (tree_.exhausted()) return StopReason::kSaturated;
  return StopReason::kNone;
}

void Search::TakeIn(Slot& slot) {
  if (!slot.done) return;
  slot.done = false;
  // Of an earlier tree it cannot be told any more what was known.
  if (!std::exchange(slot.used, false) || slot.tree != num_restarts_) return;
  for (State& state : slot.states) BringUpToDate(state);
  tree_.Observe(slot.leaf, slot.opened, slot.states);
  for (size_t i = 0; i < slot.states.size(); ++i) {
    ++outcome_.simulations;
    const State& state = slot.states[i];
    if (BestCost() <= state.cost && !state.saturated && !contenders_.Wants(state.bill)) continue;
    std::vector<Action> path = slot.leaf.path;
    path.push_back(slot.leaf.tries[i]);
    contenders_.Add(state.bill, path, slot.seconds[i]);
    if (BestCost() > state.cost) NoteBest(state, path, slot.seconds[i]);
    if (state.saturated) NoteAll(path);
  }
  RestartIfStuck();
}

// All that there is is in the state at the end of the path.
void Search::NoteAll(const std::vector<Action>& path) {
  outcome_.reason = StopReason::kSaturated;
  if (prices_ != nullptr) to_all_ = best_path_ = path;
}

// Those that were valued before prices changed. None counts as dearer than the root, whose best
// graph is in all of them.
void Search::BringUpToDate(State& state) const {
  if (repriced_) state.cost = std::min(CostNow(state.bill, state.cost), root_.cost);
}

bool Search::MayReprice() const {
  const int64_t since = outcome_.simulations - last_repricing_;
  return since >= static_cast<int64_t>(tree_.num_states()) / kRepricedPerSimulation;
}

// If more has become known of what things cost: of all that is remembered. Then another state may
// be the best.
void Search::Reprice() {
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

// Before the end, when there are no other threads. Nobody is kept from searching by this.
void Search::SettleBest() {
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

// Where costs are known for good, all time is for searching.
double Search::SecondsToSettle() const {
  if (prices_ == nullptr || prices_->BestIsKnown()) return 0;
  return kShareOfWaiting / (1 - kShareOfWaiting) * Clock::System().SecondsSince(start_ns_);
}

// A new tree from the root, with what was learnt of actions.
void Search::RestartIfStuck() {
  const int64_t since =
      outcome_.simulations - std::max(last_restart_, outcome_.improvements.back().simulations);
  const bool stuck = since > kPatience + outcome_.improvements.back().simulations;
  if (!stuck && tree_.num_states() < kMaxStates) return;
  priors_.Shake();
  BeginAnew();
}

void Search::BeginAnew() {
  num_states_ += static_cast<int64_t>(tree_.num_states());
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
  if (&walk == &walk_) cut_short_ = walk_.here();
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

void Search::NoteBest(const State& state, std::vector<Action> path, double seconds) {
  best_path_ = std::move(path);
  seconds_to_best_ = seconds;
  outcome_.improvements.push_back(
      {Clock::System().SecondsSince(start_ns_), outcome_.simulations, state.cost, state.bill});
}

// With all that is in it, where it is no worse: costs that are only known later may differ.
void Search::NoteIfNoWorse(const State& state, const std::vector<Action>& path) {
  if (state.cost < BestCost()) NoteBest(state, path, walk_.seconds());
  if (state.cost == BestCost()) best_path_ = path;
  contenders_.Add(state.bill, path, walk_.seconds());
}

void Search::Fail(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = status;
  outcome_.reason = StopReason::kCancelled;
}

// The lock is held no longer than it takes to make bytes of what there is. What is under way is
// saved as that: whoever goes on tries it again.
void Search::SaveCheckpoint() {
  if (task_.checkpoint == nullptr) return;
  FieldWriter stream;
  {
    absl::MutexLock lock(&mutex_);
    if (next_ == saved_ || !status_.ok()) return;
    saved_ = next_;
    stream.Real(Clock::System().SecondsSince(start_ns_), 0, kMostSeconds);
    VisitFields(stream);
  }
  task_.checkpoint->Save(SealCheckpoint(identity_, stream.Take()));
}

absl::Status Search::TakeUpCheckpoint() {
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
  saved_ = next_;
  goes_on_ = true;
  return absl::OkStatus();
}

template <typename Stream>
void Search::VisitFields(Stream& stream) {
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
  stream.Number(num_states_, kMostCounted);
  VisitActions(stream, best_path_, num_rules_);
  stream.Real(seconds_to_best_, 0, kMostSeconds);
  stream.Part(priors_);
  stream.Part(tree_);
  for (int64_t i = first_slot(); i < next_; ++i) {
    VisitSlot(stream, slots_[i % MctsStrategy::kWindow]);
  }
}

// What is not done is its worker's, but for where it was told to go; that is done again.
template <typename Stream>
void Search::VisitSlot(Stream& stream, Slot& slot) {
  // What is of an earlier tree is thrown away.
  bool used = slot.used && slot.tree == num_restarts_;
  stream.Number(used, 1);
  if constexpr (std::is_same_v<Stream, FieldReader>) {
    slot.used = used;
    slot.tree = num_restarts_;
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

// False if they do not fit the rest.
bool Search::TakeUpSlots() {
  for (int64_t i = next_; i-- > first_slot();) {
    Slot& slot = slots_[i % MctsStrategy::kWindow];
    const size_t num_tried = slot.done ? slot.states.size() : slot.leaf.tries.size();
    if (num_tried != slot.leaf.tries.size() || slot.states.size() != slot.seconds.size()) {
      return false;
    }
    if (slot.used && !tree_.TakeUp(&slot.leaf)) return false;
    if (slot.used && !slot.done) again_.push_back(&slot);
    slot.done |= !slot.used;
  }
  return true;
}

absl::Status Search::PrepareToGoOn() {
  // All of it, even if time is up: the way to the best state begins here.
  const StopCondition stop = task_.stop.WithoutDeadline();
  QUOTIENT_ASSIGN_OR_RETURN(root_, walk_.GoTo({}, stop));
  opened_root_ = {walk_.Hash(), walk_.Actions(stop)};
  std::erase(opened_root_.actions, kGrowToTheLimit);
  absl::MutexLock lock(&mutex_);
  const bool as_it_was = prices_ == nullptr && root_.cost == tree_.root_cost();
  return as_it_was ? absl::OkStatus() : ValueAnew();
}

// Costs are others than they were, or may become so: no bill is in a checkpoint. The best path and
// what was learnt of actions stay.
absl::Status Search::ValueAnew() {
  const std::vector<Action> path = std::move(best_path_);
  QUOTIENT_ASSIGN_OR_RETURN(const State best, walk_.GoTo(path, task_.stop.WithoutDeadline()));
  outcome_.improvements.clear();
  NoteBest(root_, {}, 0);
  NoteIfNoWorse(best, path);
  contenders_.Add(root_.bill, {}, 0);
  // The search may have ended for another reason than that everything is in the best state.
  outcome_.reason = StopReason::kNone;
  if (best.saturated) NoteAll(path);
  BeginAnew();
  slots_ = {};
  again_.clear();
  next_ = saved_ = 0;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Outcome> MctsStrategy::Run(Workspace& workspace, const Task& task) const {
  auto search = std::make_unique<Search>(workspace, task);
  if (const absl::Status status = search->TakeUpCheckpoint(); !status.ok()) {
    Log().warn("a checkpoint is of no use: {}", std::string(status.message()));
    search = std::make_unique<Search>(workspace, task);
    search->NoteRefusal(status.message());
  }
  return search->ToEnd();
}

}  // namespace quotient::search
