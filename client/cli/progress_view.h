#pragma once

// Shows progress: one changing line on a terminal, a line every few seconds elsewhere.

#include <cstdio>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/progress.h"
#include "core/base/stop_signal.h"

namespace quotient::cli {

// Returns text such as "search      3.2 s   14231 e-nodes   gain by e-nodes 18.3 %   rule 7 of 40".
std::string ProgressLine(const Progress& progress);

// Thread-safe. It is a ProgressSink, so that a local run can report to it directly.
class ProgressView : public ProgressSink {
 public:
  // `live` says whether `out` is a terminal. Borrows `out` and `clock`.
  ProgressView(std::FILE* out, bool live, const Clock* clock)
      : out_(out), live_(live), clock_(*clock) {}
  ~ProgressView() override { Clear(); }

  void Report(const Progress& progress) override;
  // Shows the last report again with the time that has passed since.
  void Tick();
  // Prints a line that stays.
  void Note(const std::string& line);
  // Removes the changing line, so that something else can be printed. The next report shows it
  // again.
  void Clear();

 private:
  void ShowLocked(const Progress& progress) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ClearLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Least time between two lines of the same phase, if not on a terminal.
  static constexpr double kPlainIntervalSeconds = 5;

  std::FILE* const out_;
  const bool live_;
  const Clock& clock_;

  absl::Mutex mutex_;
  bool line_open_ ABSL_GUARDED_BY(mutex_) = false;
  std::string phase_ ABSL_GUARDED_BY(mutex_);       // Phase of the last line, if not on a terminal.
  int64_t printed_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // Time of that line.
  Progress last_ ABSL_GUARDED_BY(mutex_);           // The last report; no phase if there is none.
  int64_t reported_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // Time of the last report.
};

// Calls a view's Tick once a second, since some steps of a run take long and report nothing. Only
// for runs in this process: a job on a server may not be running while it reports nothing.
class Heartbeat {
 public:
  // Borrows the view.
  explicit Heartbeat(ProgressView* view) : thread_([this, view] { Beat(view); }) {}
  ~Heartbeat() { stop_.Set(); }

 private:
  void Beat(ProgressView* view);

  StopSignal stop_;
  std::jthread thread_;  // Declared last: uses the members above.
};

}  // namespace quotient::cli
