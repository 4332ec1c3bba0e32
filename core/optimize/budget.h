#pragma once

// Budget: how the time of a job (Options::budget_seconds) is shared among its phases.
//
//   phase                       is to end when this share of the budget has passed
//   read, baseline              0.5   kernels that are not measured by then are estimated; those of
//                                     a file that is run get at least 0.15 of the budget
//   search: grow the e-graph    0.4   of the search's own budget
//   search: choose and measure  0.65
//   package, verify             0.8   only one candidate is still checked after that
//   measure                     1
//
// Questions (Options::why_not) are answered behind the search, in a tenth of the budget and in 2
// seconds at most. The journal of the result is derived behind all phases, also by a job that was
// told to finish. That is bounded by steps of work, so that equal jobs have equal journals however
// busy the machine is: as many as usually take a tenth of Options::budget_seconds, but at least 3
// and at most 30 seconds.
//
// A model that runs in milliseconds has no use for all of that, because its kernels and its races
// are as short as its runs. So it gets what a thousand runs take (1500 by a prior, which is
// mostly optimistic), or 8.5 s if that is more, whatever a busy machine could still be asked. Of a
// budget beyond the usual one it gets as much more.
//
// A phase that begins late still gets the least that it needs to be of any use, and what has been
// begun (one check of a graph, one run) is not broken off. No result is returned unchecked, so a
// job takes at least as long as evaluating the original and one candidate on all sets of inputs.
//
// When a job is told to finish (CancelToken::Finish), it goes on as if its budget had been what had
// passed by then, and late phases get no least time any more, but for the race.

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/optimize/options.h"

namespace quotient::optimize {

// What a search may take from when it begins, in seconds.
struct SearchTime {
  double grow_seconds = 0;  // To grow the e-graph.
  double seconds = 0;       // That included, to measure kernels and choose graphs.
};

// What deriving a journal may take.
struct JournalBudget {
  int64_t steps = 0;   // Of journal::StepBudget.
  StopCondition stop;  // In case that steps take far longer than usual.
};

// Thread-safe. Borrows the clock, and what `stop` borrows.
class Budget {
 public:
  // The budget of a job that begins now. `stop` tells when it is to finish.
  Budget(const Options& options, const Clock& clock, const StopCondition& stop);

  // Where models are run, before the time of any other phase is asked for: takes away what one that
  // is expected to run in `run_seconds` has no use for. A search that was given a budget of its own
  // gets it.
  void FitTo(double run_seconds);

  // `stop`, and the end of the time that each phase has.
  StopCondition ForBaseline(const StopCondition& stop) const { return Until(kBaselineEnd, stop); }
  // For measuring the kernels of the original's file, from when this is called.
  StopCondition ForFile(const StopCondition& stop) const;
  StopCondition ForChecks(const StopCondition& stop) const { return Until(kChecksEnd, stop); }
  // For searches without wrong rules, which are not expected to be needed.
  StopCondition ForRescue(const StopCondition& stop) const;
  // `late_seconds`: what the phases behind it take at least. The search has less where that, and
  // being late itself, would make the job take about one and a half times its budget.
  SearchTime ForSearch(double late_seconds = 0) const;
  // For answering all questions of the user, from when this is called.
  StopCondition ForQuestions(const StopCondition& stop) const;
  // For deriving the journal of the result, from when this is called. The steps depend on the
  // options alone.
  JournalBudget ForJournal(const StopCondition& stop) const;
  // Seconds for running graphs against each other.
  double ForMeasuring() const;
  // The same, however late that is.
  double LeastForMeasuring() const;
  // Seconds until the budget is used up; 0 afterwards.
  double Left() const;
  // Whether the job has already taken what it may take at most, had it not been told to finish.
  bool IsExceeded() const;
  // The budget: the whole of it, or what had passed when the job was told to finish.
  double Seconds() const;
  // Whether the job was told to finish before its budget was used up.
  bool IsCut() const;

  // The last extractions of a search may take this share of its time more.
  static constexpr double kSearchGrace = 0.25;

 private:
  static constexpr double kBaselineEnd = 0.5;
  static constexpr double kSearchEnd = 0.65;
  static constexpr double kChecksEnd = 0.8;

  StopCondition Until(double share, const StopCondition& stop) const;
  double SecondsUntil(double share) const;

  const Clock& clock_;
  const StopCondition stop_;
  const int64_t start_ns_;
  const double asked_seconds_;  // Options::budget_seconds
  // The whole budget: what was asked for, or what FitTo left of it.
  std::atomic<double> whole_seconds_;
  const double search_seconds_;  // Options::search_budget_seconds
};

}  // namespace quotient::optimize
