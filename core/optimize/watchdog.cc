#include "core/optimize/watchdog.h"

#include <algorithm>

#include "absl/time/time.h"

namespace quotient::optimize {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(200);
// How long a call may take when the job has been cancelled.
constexpr double kSecondsOfCancelled = 1;
// The same when the budget is used up, or the job was told to finish: half of the budget, or of
// what had passed by then, since loading a large model takes long, too, and its user gave it time.
constexpr double kLeastSecondsOfLate = 10;
constexpr double kShareOfLate = 0.5;

}  // namespace

Watchdog::Watchdog(const Job& job, const Device& device) : job_(job) {
  if (device.runs_files()) thread_ = std::thread([this] { Watch(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  stop_.Set();
  thread_.join();
}

void Watchdog::Watch() {
  while (!stop_.AwaitFor(kBetweenLooks)) Look();
}

void Watchdog::Look() const {
  const bool is_cancelled = job_.stop.cancelled();
  if (!is_cancelled && job_.budget.Left() > 0) return;
  const double budget = job_.budget.IsCut() ? job_.budget.Seconds() : job_.options.budget_seconds;
  const double patience =
      is_cancelled ? kSecondsOfCancelled : std::max(kLeastSecondsOfLate, kShareOfLate * budget);
  job_.environment.devices->EndHungCalls(job_.options.device, patience);
}

}  // namespace quotient::optimize
