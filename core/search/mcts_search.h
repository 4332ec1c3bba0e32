#pragma once

// The state of one Monte Carlo tree search, shared by the files that implement it: mcts.cc has the
// search, mcts_record.cc writes and reads its checkpoints.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/search/checkpoint.h"
#include "core/search/contenders.h"
#include "core/search/mcts.h"
#include "core/search/priors.h"
#include "core/search/search_tree.h"
#include "core/search/walk.h"

namespace quotient::search {

inline constexpr Action kGrowToTheLimit = {Action::Kind::kGrow, 0, Action::kToTheLimit};

class MctsSearch {
 public:
  MctsSearch(Workspace& workspace, const Task& task)
      : task_(task),
        identity_(task.checkpoint == nullptr ? Digest() : SearchIdentity("mcts", workspace, task)),
        num_rules_(workspace.rules().size()),
        prices_(workspace.prices()),
        walk_(&workspace, &task.limits),
        priors_(workspace.rules().size(), task.seed),
        tree_(&priors_),
        contenders_(prices_) {}

  // Restores the state of an interrupted search from the task's checkpoint, if there is one. After
  // an error this object must not be used.
  absl::Status TakeUpCheckpoint();
  void NoteRefusal(absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    outcome_.checkpoint_refused = std::string(why);
  }

  absl::StatusOr<Outcome> ToEnd();

 private:
  // A simulation. Simulation s occupies slot s % kWindow.
  struct Slot {
    // Whether the tree had something to try.
    bool used = false;
    int64_t tree = 0;  // Number of the tree that selected it.
    Walk::Places places = Walk::Places::kOfIndexedRules;
    // Whether the results below are complete. Until then the worker that tries the simulation owns
    // them.
    bool done = false;
    // Reserves time for the way back to the best state.
    StopCondition stop;
    SearchTree::Leaf leaf;
    SearchTree::Opened opened;
    std::vector<State> states;  // The states that leaf.tries lead to.
    // Time it takes to walk to each of them.
    std::vector<double> seconds;
  };

  absl::Status Prepare();
  absl::Status PrepareToGoOn();
  void OpenRoot(const StopCondition& stop);
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
  bool StaysWhereItWasCutShort() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t NumWorkers();
  void Work(Walk& walk);
  void WorkElsewhere();
  void Report() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a simulation for the walk to try. Null when the search has ended.
  Slot* Begin(const Walk& walk);
  bool MaySelect() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outcome_.reason == StopReason::kNone &&
           (next_ < MctsStrategy::kWindow || slots_[next_ % MctsStrategy::kWindow].done);
  }
  void Select() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Slot* TakeNearest(const Walk& walk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RestartIfStuck() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TryPlaces() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Try(Walk& walk, Slot& slot);
  absl::Status TryAll(Walk& walk, Slot& slot);
  absl::StatusOr<bool> Open(Walk& walk, Slot& slot);
  bool CanBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StopReason OutOfTime() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StopReason CheckEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeIn(Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayReprice() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Reprice() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleBest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double SecondsToSettle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteAll(const std::vector<Action>& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BringUpToDate(State& state) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The present cost of a state that cost `cost` when it was valued.
  double CostNow(BillId bill, double cost) const {
    return bill.valid() ? prices_->CostOf(bill) : cost;
  }
  void Fail(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  double BestCost() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outcome_.improvements.back().cost;
  }
  // Time it takes to go to the best state: about as long as the way there took, and as long again
  // to leave the present state and to value the best one.
  double SecondsBack() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return 2 * seconds_to_best_; }
  void NoteBest(const State& state, std::vector<Action> path, double seconds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records the state that walk_ is in as the best one, if it is no worse than the best so far.
  void NoteIfNoWorse(const State& state, const std::vector<Action>& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- Constant once the workers run

  // For a resumed search, `stop` is earlier by the time spent before.
  Task task_;
  const Digest identity_;
  const size_t num_rules_;
  // Null if costs never change.
  Prices* const prices_;
  int64_t start_ns_ = Clock::System().NowNs();
  // Whether the search was resumed from a checkpoint.
  bool goes_on_ = false;

  // --- Used by the calling thread only, apart from HasRulesFromScratch
  Walk walk_;  // Walk of the calling thread.
  State root_;
  // What can be tried at the root: at first whole rules, and places of the rules that the matcher
  // indexes; when those are exhausted, also places of the others.
  SearchTree::Opened opened_root_;
  SearchTree::Opened opened_root_with_places_;

  // --- Guarded by mutex_
  absl::Mutex mutex_;
  Priors priors_ ABSL_GUARDED_BY(mutex_);
  SearchTree tree_ ABSL_GUARDED_BY(mutex_);
  // A worker that has taken a slot owns it until it is done; otherwise mutex_ guards it. What
  // Select wrote does not change meanwhile and may be read under mutex_.
  std::array<Slot, MctsStrategy::kWindow> slots_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of the next simulation.
  Walk::Places places_ ABSL_GUARDED_BY(mutex_) = Walk::Places::kOfIndexedRules;
  // Number of times that a simulation was selected or done.
  int64_t num_events_ ABSL_GUARDED_BY(mutex_) = 0;
  // num_events_ when the last checkpoint was written.
  int64_t saved_ ABSL_GUARDED_BY(mutex_) = 0;
  // Selected and not yet taken by a worker, the oldest first.
  std::vector<Slot*> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t num_restarts_ ABSL_GUARDED_BY(mutex_) = 0;
  // outcome_.simulations at the last restart.
  int64_t last_restart_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_states_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of states in earlier trees.
  std::vector<Action> best_path_ ABSL_GUARDED_BY(mutex_);
  double seconds_to_best_ ABSL_GUARDED_BY(mutex_) = 0;
  // The state that walk_ is in, if time ran out while the calling thread tried a simulation.
  std::optional<State> cut_short_ ABSL_GUARDED_BY(mutex_);
  Contenders contenders_ ABSL_GUARDED_BY(mutex_);  // Empty unless prices change.
  // Whether prices have changed since the search began.
  bool repriced_ ABSL_GUARDED_BY(mutex_) = false;
  // outcome_.simulations at the last repricing.
  int64_t last_repricing_ ABSL_GUARDED_BY(mutex_) = 0;
  // The path to a state that contains everything the rules can make, if there is one. The best
  // graph is in it whatever things cost.
  std::optional<std::vector<Action>> to_all_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::search
