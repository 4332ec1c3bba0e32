#include "client/cpp/retry.h"

#include <algorithm>

#include "core/base/clock.h"
#include "proto/wire/status.h"

namespace quotient::client {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(2);

}  // namespace

Retry::Retry(absl::Duration patience, const Interrupt* interrupt)
    : patience_(patience), interrupt_(*interrupt) {
  Progressed();
}

void Retry::Progressed() {
  constexpr absl::Duration kLongestPatience = absl::Hours(100 * 365 * 24);  // In nanoseconds, too.
  give_up_ns_ =
      Clock::System().NowNs() + absl::ToInt64Nanoseconds(std::min(patience_, kLongestPatience));
  pause_ = kFirstPause;
}

bool Retry::Again(const absl::Status& status) {
  if (!wire::MayPass(status)) return false;
  const absl::Duration left = absl::Nanoseconds(give_up_ns_ - Clock::System().NowNs());
  if (left <= absl::ZeroDuration()) return false;
  const bool interrupted = interrupt_.WaitFor(std::min(pause_, left));
  pause_ = std::min(pause_ * 2, kLongestPause);
  return !interrupted;
}

}  // namespace quotient::client
