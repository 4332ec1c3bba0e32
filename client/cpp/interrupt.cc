#include "client/cpp/interrupt.h"

#include <utility>

namespace quotient::client {

void Interrupt::Trigger() {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(triggered_, true)) return;
  for (const auto& action : actions_) action();
}

bool Interrupt::triggered() const {
  absl::MutexLock lock(&mutex_);
  return triggered_;
}

bool Interrupt::WaitFor(absl::Duration duration) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&triggered_), duration);
}

Interrupt::Handler::Handler(Interrupt* interrupt, std::function<void()> action)
    : interrupt_(*interrupt) {
  absl::MutexLock lock(&interrupt_.mutex_);
  position_ = interrupt_.actions_.insert(interrupt_.actions_.end(), std::move(action));
  if (interrupt_.triggered_) (*position_)();
}

Interrupt::Handler::~Handler() {
  absl::MutexLock lock(&interrupt_.mutex_);
  interrupt_.actions_.erase(position_);
}

}  // namespace quotient::client
