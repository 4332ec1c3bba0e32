#include "client/cli/progress_view.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/base/counted.h"
#include "core/base/log.h"
#include "core/base/printable.h"

namespace quotient::cli {
namespace {

// Longer lines are cut: few terminals are narrower than 80 columns, and a wrapped line cannot be
// erased.
constexpr size_t kLiveColumns = 79;

std::string GainText(const Progress& progress) {
  if (progress.best_share <= 0) return "";
  return absl::StrFormat("   gain by e-nodes %.1f %%", 100 * (1 - progress.best_share));
}

}  // namespace

std::string ProgressLine(const Progress& progress) {
  std::string line =
      absl::StrFormat("%-9s%6.1f s", Escaped(progress.phase), progress.elapsed_seconds);
  if (progress.enodes > 0) absl::StrAppend(&line, "   ", Counted(progress.enodes, "e-node"));
  line += GainText(progress);
  if (!progress.detail.empty()) absl::StrAppend(&line, "   ", Escaped(progress.detail));
  return line;
}

void ProgressView::Report(const Progress& progress) {
  absl::MutexLock lock(&mutex_);
  last_ = progress;
  reported_ns_ = clock_.NowNs();
  ShowLocked(progress);
}

void ProgressView::Tick() {
  absl::MutexLock lock(&mutex_);
  if (last_.phase.empty()) return;
  Progress now = last_;
  now.elapsed_seconds += clock_.SecondsSince(reported_ns_);
  ShowLocked(now);
}

void ProgressView::ShowLocked(const Progress& progress) {
  const std::string line = ProgressLine(progress);
  if (live_) {
    // Returns to the start of the line, writes it, and erases the rest of the previous one.
    std::fprintf(out_, "\r%s\x1b[K", line.substr(0, kLiveColumns).c_str());
    line_open_ = true;
  } else if (progress.phase != phase_ ||
             clock_.SecondsSince(printed_ns_) >= kPlainIntervalSeconds) {
    std::fprintf(out_, "%s\n", line.c_str());
    phase_ = progress.phase;
    printed_ns_ = clock_.NowNs();
  }
  std::fflush(out_);
}

void ProgressView::Note(const std::string& line) {
  absl::MutexLock lock(&mutex_);
  ClearLocked();
  std::fprintf(out_, "%s\n", Printable(line).c_str());
  std::fflush(out_);
}

void ProgressView::Clear() {
  absl::MutexLock lock(&mutex_);
  last_ = {};
  ClearLocked();
}

void ProgressView::ClearLocked() {
  if (!line_open_) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
  line_open_ = false;
}

void Heartbeat::Beat(ProgressView* view) {
  while (!stop_.AwaitFor(absl::Seconds(1))) view->Tick();
}

}  // namespace quotient::cli
