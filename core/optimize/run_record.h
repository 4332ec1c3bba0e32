#pragma once

// RunRecord: what one run of the pipeline reports: its progress while it works, and the report at
// its end.

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/base/progress.h"
#include "core/optimize/job.h"
#include "core/optimize/rescue.h"
#include "core/report/report.h"

namespace quotient::optimize {

// Used by one thread. Borrows the job and the sink, which may be null.
class RunRecord {
 public:
  RunRecord(const Job& job, ProgressSink* sink) : job_(job), sink_(sink) {}

  // Runs a stage: checks whether to stop, reports the progress and measures the time. Returns what
  // `body` returns. Fails with CANCELLED or RUN_BUDGET if the stage was not begun.
  template <typename Body>
  std::invoke_result_t<Body> Phase(absl::string_view name, const Body& body) {
    if (absl::Status begun = Begin(name); !begun.ok()) return begun;
    const int64_t start = clock_.NowNs();
    std::invoke_result_t<Body> value = body();
    End(name, clock_.SecondsSince(start));
    return value;
  }

  // --- Progress within a phase.

  void SetOriginalCost(double cost_us) { progress_.original_cost_us = cost_us; }
  // `fraction` of the search is done. `best_share` is explained in Progress.
  void ReportSearch(double fraction, double best_share, int64_t enodes);

  // --- The report.

  report::Report& report() { return report_; }
  report::Report TakeReport() { return std::move(report_); }

  void Note(std::string note) { report_.notes.push_back(std::move(note)); }
  void Note(std::vector<std::string> notes);
  // Notes, and logs, that `what` went wrong. The user still gets the original, which is a safe
  // answer, but has to see that something failed.
  void NoteFailure(absl::string_view what, const absl::Status& status);
  void NoteRefused(const Refused& refused);
  // Notes what was refused, and why something else could be kept.
  void NoteRescue(const Rescued& rescued);

 private:
  absl::Status Begin(absl::string_view phase);
  void End(absl::string_view phase, double seconds);
  void ReportProgress(double fraction);

  // --- Constant after construction.
  const Job& job_;
  ProgressSink* const sink_;
  const Clock& clock_ = job_.environment.clock;
  const int64_t start_ns_ = clock_.NowNs();

  // --- What was reported so far.
  Progress progress_;
  report::Report report_;
};

}  // namespace quotient::optimize
