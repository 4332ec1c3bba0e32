#pragma once

// One Monte Carlo tree search: the loop of its workers, and what they share. mcts.cc has the
// search, mcts_record.cc writes and reads checkpoints.
//
// The parts of its state have files of their own: the trees (successive_trees.h), the simulations
// under way (simulation_window.h), the best state with those that may replace it (incumbent.h), how
// far the search has come (progress.h), and how it deals with costs that change (changing_costs.h).

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
#include "core/search/changing_costs.h"
#include "core/search/incumbent.h"
#include "core/search/progress.h"
#include "core/search/simulation_window.h"
#include "core/search/strategy.h"
#include "core/search/successive_trees.h"
#include "core/search/walk.h"

namespace quotient::search {

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
  SuccessiveTrees::Root OpenRoot(const State& root, const StopCondition& stop);
  int64_t NumWorkers();
  absl::StatusOr<Outcome> Finish();
  Outcome OutcomeSoFar() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report() ABSL_LOCKS_EXCLUDED(mutex_);

  // --- The loop of a worker (mcts.cc)

  void Work(Walk& walk);
  void RunWorkerThread();
  void GiveWay() ABSL_LOCKS_EXCLUDED(mutex_);
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

  // --- Constant once the workers run

  // For a resumed search, `stop` is earlier by the time spent before.
  Task task_;
  const Digest identity_;
  const size_t num_rules_;
  Prices* const prices_;     // Null if costs never change. Thread-safe.
  bool is_resumed_ = false;  // Whether the search was resumed from a checkpoint.

  // --- Guarded by mutex_ while workers run. simulation_window.h says which fields of a simulation
  // --- its worker uses without the lock.

  absl::Mutex mutex_;
  Progress progress_ ABSL_GUARDED_BY(mutex_);
  SuccessiveTrees trees_ ABSL_GUARDED_BY(mutex_);
  SimulationWindow window_ ABSL_GUARDED_BY(mutex_);
  Incumbent best_ ABSL_GUARDED_BY(mutex_);       // The answer so far.
  ChangingCosts costs_ ABSL_GUARDED_BY(mutex_);  // Borrows the trees and best_.
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  // Without what best_ and progress_ have.
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);
  // How often a simulation was selected or finished. A checkpoint is written only if this changed.
  int64_t num_events_ ABSL_GUARDED_BY(mutex_) = 0;
  // num_events_ when the last checkpoint was written.
  int64_t num_events_saved_ ABSL_GUARDED_BY(mutex_) = 0;

  // --- Owned by the calling thread. Others may only call walk_.HasRulesBesidePatterns().

  Walk walk_;
};

}  // namespace quotient::search
