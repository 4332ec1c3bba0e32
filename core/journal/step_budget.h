#pragma once

// StepBudget: bounds the work of deriving or replaying a journal. Work is counted in steps, so that
// whether a journal can be derived does not depend on how busy the machine is. A step is about the
// work of looking at one e-node. A StopCondition is asked from time to time as well.

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/stop.h"

namespace quotient::journal {

// One thread.
class StepBudget {
 public:
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

  // Borrows what `stop` borrows.
  explicit StepBudget(const StopCondition& stop, int64_t most_steps = kUnbounded)
      : stop_(stop), most_steps_(most_steps) {}
  StepBudget(const StepBudget&) = delete;
  StepBudget& operator=(const StepBudget&) = delete;

  void Take(int64_t steps) { taken_ += steps; }
  int64_t taken() const { return taken_; }

  // Whether the work has to end. Once it has, this stays so. Loops ask, end early with whatever
  // they have, and leave it to their callers to throw that away by Check.
  bool IsOver() {
    if (taken_ >= next_look_) Look();
    return taken_ > most_steps_ || reason_ != StopReason::kNone;
  }

  // A single search was cut short by a limit of its own, so it may have missed a match.
  void NoteCut() { was_cut_ = true; }
  bool was_cut() const { return was_cut_; }

  // CANCELLED, or RUN_BUDGET, if the work has to end.
  absl::Status Check() {
    if (taken_ > most_steps_) {
      return MakeError(Reason::kRunBudget, absl::StrCat("it takes more than the ", most_steps_,
                                                        " steps of work that it may take"));
    }
    Look();
    if (reason_ == StopReason::kNone) return absl::OkStatus();
    return reason_ == StopReason::kCancelled
               ? MakeError(Reason::kCancelled, "it was cancelled")
               : MakeError(Reason::kRunBudget, "it takes longer than it may");
  }

 private:
  static constexpr int64_t kStepsBetweenLooks = 10'000;

  void Look() {
    next_look_ = taken_ + kStepsBetweenLooks;
    if (reason_ == StopReason::kNone) reason_ = stop_.Check();
  }

  const StopCondition stop_;
  const int64_t most_steps_;
  int64_t taken_ = 0;
  bool was_cut_ = false;
  int64_t next_look_ = 0;                  // The clock is read once so many steps are taken.
  StopReason reason_ = StopReason::kNone;  // Why `stop` ended the work.
};

}  // namespace quotient::journal
