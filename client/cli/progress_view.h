#pragma once

// Progress on standard error: one line that changes on a terminal, now and then a line elsewhere.

#include <cstdio>
#include <string>

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
  // A line that stays.
  void Note(const std::string& line);
  // Removes the changing line, before something else is printed.
  void Clear();

 private:
  void ClearLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Elsewhere than on a terminal, lines within a phase are this far apart.
  static constexpr double kPlainIntervalSeconds = 5;

  std::FILE* const out_;
  const bool live_;
  const Clock& clock_;

  absl::Mutex mutex_;
  bool line_open_ ABSL_GUARDED_BY(mutex_) = false;
  std::string phase_ ABSL_GUARDED_BY(mutex_);
  int64_t last_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quotient::cli
