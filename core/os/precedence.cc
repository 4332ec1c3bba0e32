#include "core/os/precedence.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/os/files.h"

namespace quotient::os {
namespace {

// A setting of the scheduler, in microseconds; -1 if it is not known.
int64_t SchedulerUs(absl::string_view name) {
  const auto text = ReadFile(absl::StrCat("/proc/sys/kernel/", name));
  int64_t us = -1;
  return text.ok() && absl::SimpleAtoi(*text, &us) ? us : -1;
}

// Which share of the processor the kernel keeps for threads that are not real-time ones.
double ShareOfOthers() {
  const auto real_time_us = static_cast<double>(SchedulerUs("sched_rt_runtime_us"));
  const auto period_us = static_cast<double>(SchedulerUs("sched_rt_period_us"));
  return real_time_us >= 0 && period_us > 0 ? 1 - real_time_us / period_us : 0;
}

}  // namespace

bool TakePrecedence() {
  if (ShareOfOthers() <= 0) return false;
  const sched_param lowest{.sched_priority = sched_get_priority_min(SCHED_RR)};
  return sched_setscheduler(0, SCHED_RR, &lowest) == 0;
}

void LeaveShareToOthers(double us) {
  constexpr double kMargin = 2;  // Not all that is computed is told of.
  if (sched_getscheduler(0) != SCHED_RR) return;
  static const double share = std::clamp(ShareOfOthers() * kMargin, 0.0, 0.5);
  absl::SleepFor(absl::Microseconds(us * share));
}

}  // namespace quotient::os
