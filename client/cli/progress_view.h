#pragma once

// Progress on standard error: one line that changes on a terminal, now and then a line elsewhere.

#include <cstdio>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/progress.h"

namespace quotient::cli {

// "search      3.2 s   812.4 us, -18.3 %   14231 e-nodes   rule 7 of 40"
std::string ProgressLine(const Progress& progress);

// Thread-safe; a ProgressSink, so that a local run can report to it directly.
class ProgressView : public ProgressSink {
 public:
  // `live`: `out` is a terminal. Borrows both.
  ProgressView(std::FILE* out, bool live, const Clock* clock)
      : out_(out), live_(live), clock_(*clock) {}
  ~ProgressView() override { Clear(); }

  void Report(const Progress& progress) override;
  // Time went by and there was nothing to report: as before, only later.
  void Tick();
  // A line that stays.
  void Note(const std::string& line);
  // Removes the changing line, before something else is printed. It comes back with a report.
  void Clear();

 private:
  void ShowLocked(const Progress& progress) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ClearLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Elsewhere than on a terminal, lines within a phase are this far apart.
  static constexpr double kPlainIntervalSeconds = 5;

  std::FILE* const out_;
  const bool live_;
  const Clock& clock_;

  absl::Mutex mutex_;
  bool line_open_ ABSL_GUARDED_BY(mutex_) = false;
  std::string phase_ ABSL_GUARDED_BY(mutex_);       // of the last line that was printed to stay
  int64_t printed_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // when that was
  Progress last_ ABSL_GUARDED_BY(mutex_);           // reported; without a phase: nothing
  int64_t reported_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Lets a view tick once a second for as long as it lives: some steps of a run take long and report
// nothing. For a run in this process; what a job on a server does meanwhile, only the server knows.
class Heartbeat {
 public:
  // Borrows the view.
  explicit Heartbeat(ProgressView* view) : thread_([this, view] { Beat(view); }) {}
  ~Heartbeat();

 private:
  void Beat(ProgressView* view);

  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace quotient::cli
