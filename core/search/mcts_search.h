#pragma once

// The state of one Monte Carlo tree search, shared by the files that implement it: mcts.cc has the
// search, mcts_prices.cc deals with costs that change, mcts_record.cc writes and reads checkpoints.
//
// Three parts have files of their own: the tree (search_tree.h), the simulations under way
// (simulation_window.h), and the best state with those that may replace it (incumbent.h).

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
#include "core/base/digest.h"
#include "core/search/incumbent.h"
#include "core/search/priors.h"
#include "core/search/search_tree.h"
#include "core/search/simulation_window.h"
#include "core/search/strategy.h"
#include "core/search/walk.h"

namespace quotient::search {

inline constexpr Action kGrowToTheLimit = {Action::Kind::kGrow, 0, Action::kToTheLimit};
// The path to the state that growing the initial e-graph to the limit leads to.
inline std::vector<Action> PathToGrown() { return {kGrowToTheLimit}; }

class MctsSearch {
 public:
  MctsSearch(Workspace& workspace, const Task& task);

  // Restores the state of an interrupted search from the task's checkpoint, if there is one. After
  // an error this object must not be used.
  absl::Status RestoreCheckpoint();
  void NoteRefusal(absl::string_view why) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    outcome_.checkpoint_refused = std::string(why);
  }

  absl::StatusOr<Outcome> Run();

 private:
  // --- Beginning and end, on the calling thread (mcts.cc)

  absl::Status Prepare();
  absl::Status GrowRoot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OpenRoot(const StopCondition& stop);
  int64_t NumWorkers();
  absl::StatusOr<Outcome> Finish();
  bool KeepsInterruptedState() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Outcome OutcomeSoFar() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report() ABSL_LOCKS_EXCLUDED(mutex_);

  // --- The loop of a worker (mcts.cc)

  void Work(Walk& walk);
  void RunWorkerThread();
  Simulation* NextSimulation(const Walk& walk);
  bool CanProceed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outcome_.reason != StopReason::kNone || window_.has_waiting() || MaySelect();
  }
  bool MaySelect() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return outcome_.reason == StopReason::kNone && window_.may_select();
  }
  void Select() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddResult(Simulation& simulation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StopReason CheckTime() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StopCondition EndOfSimulations() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StopReason CheckEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Try(Walk& walk, Simulation& simulation);
  absl::Status TryAll(Walk& walk, Simulation& simulation);
  absl::StatusOr<bool> Open(Walk& walk, Simulation& simulation);
  void Fail(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- New trees (mcts.cc)

  void RestartIfStuck() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TryPlaces() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Restart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- Costs that change (mcts_prices.cc)

  bool MayReprice() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Reprice() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RepriceState(State& state) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The present cost of a state with this bill, which cost `cost` when it was valued.
  double CostNow(BillId bill, double cost) const {
    return bill.valid() ? prices_->CostOf(bill) : cost;
  }
  void SettleLargest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleBest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AwaitBest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double SecondsToSettleBest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveWay() ABSL_LOCKS_EXCLUDED(mutex_);

  // --- Checkpoints (mcts_record.cc)

  void SaveCheckpoint() ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Stream>
  void VisitFields(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Stream>
  void VisitSimulation(Stream& stream, Simulation& simulation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool RestoreSimulations() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PrepareResumed();
  absl::Status RevalueBest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RegrowRoot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- Small helpers

  double SecondsSpent() const { return task_.clock.SecondsSince(start_ns_); }
  Incumbent::Moment Now() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {SecondsSpent(), outcome_.simulations};
  }
  // Time it takes to go to the best state: about as long as the way there took, and as long again
  // to leave the present state and to value the best one.
  double SecondsToBest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return 2 * best_.seconds(); }

  // --- Constant once the workers run

  // For a resumed search, `stop` is earlier by the time spent before.
  Task task_;
  const Digest identity_;
  const size_t num_rules_;
  Prices* const prices_;  // Null if costs never change. Thread-safe.
  int64_t start_ns_;
  bool is_resumed_ = false;  // Whether the search was resumed from a checkpoint.

  // --- Owned by the calling thread. Others may only call walk_.HasRulesFromScratch().

  Walk walk_;
  // What can be tried at the root: at first whole rules, and places of the rules that the matcher
  // indexes; when those are exhausted, also places of the others.
  SearchTree::Opened opened_root_;
  SearchTree::Opened opened_root_with_places_;

  // --- Guarded by mutex_ while workers run. simulation_window.h says which fields of a simulation
  // --- its worker uses without the lock.

  absl::Mutex mutex_;
  // The tree, and what was learned about actions.
  State root_ ABSL_GUARDED_BY(mutex_);
  Priors priors_ ABSL_GUARDED_BY(mutex_);
  SearchTree tree_ ABSL_GUARDED_BY(mutex_);
  SimulationWindow window_ ABSL_GUARDED_BY(mutex_);
  // Which single matches the present tree tries as actions.
  Walk::Places places_ ABSL_GUARDED_BY(mutex_) = Walk::Places::kOfIndexedRules;
  // Number of trees before the present one, and number of states in them.
  int64_t num_restarts_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_states_ ABSL_GUARDED_BY(mutex_) = 0;
  // outcome_.simulations when the present tree was started.
  int64_t last_restart_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether prices have changed at least once since the search began.
  bool was_repriced_ ABSL_GUARDED_BY(mutex_) = false;
  // outcome_.simulations when prices last changed.
  int64_t last_repricing_ ABSL_GUARDED_BY(mutex_) = 0;
  // The answer so far.
  Incumbent best_ ABSL_GUARDED_BY(mutex_);
  // The state in which walk_ was left when time ran out, if the calling thread was then growing the
  // initial e-graph, settling the grown one or trying a simulation.
  std::optional<State> interrupted_state_ ABSL_GUARDED_BY(mutex_);
  // Whether interrupted_state_ comes from growing or settling. It then contains more than all
  // others.
  bool is_interrupted_in_largest_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether nothing was missing of the largest state's cost when the tree search began.
  bool largest_is_settled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);  // Without the improvements, which best_ has.
  // How often a simulation was selected or finished. A checkpoint is written only if this changed.
  int64_t num_events_ ABSL_GUARDED_BY(mutex_) = 0;
  // num_events_ when the last checkpoint was written.
  int64_t num_events_saved_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quotient::search
