#pragma once

// The state of one Monte Carlo tree search, for the files that implement it: mcts.cc searches,
// mcts_record.cc stores and takes up checkpoints, which are of all of its fields.

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
    Walk::Places places = Walk::Places::kOfIndexedRules;
    bool done = false;
    StopCondition stop;  // leaves the time that the way back to the best state takes
    SearchTree::Leaf leaf;
    SearchTree::Opened opened;
    std::vector<State> states;    // behind the edges
    std::vector<double> seconds;  // that it takes to come there
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
  // A simulation for a walk to try; null when the search is at its end.
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
  // By rules alone, and with places of all: those are for when the rules have been exhausted.
  SearchTree::Opened opened_root_;
  SearchTree::Opened opened_root_with_places_;
  absl::Mutex mutex_;
  Priors priors_ ABSL_GUARDED_BY(mutex_);
  SearchTree tree_ ABSL_GUARDED_BY(mutex_);
  std::array<Slot, MctsStrategy::kWindow> slots_;  // what is not done is its worker's
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;       // simulation
  Walk::Places places_ ABSL_GUARDED_BY(mutex_) = Walk::Places::kOfIndexedRules;
  int64_t num_events_ ABSL_GUARDED_BY(mutex_) = 0;      // simulations selected, and done
  int64_t saved_ ABSL_GUARDED_BY(mutex_) = 0;           // what that was in the last checkpoint
  std::vector<Slot*> waiting_ ABSL_GUARDED_BY(mutex_);  // selected, the oldest first
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

}  // namespace quotient::search
