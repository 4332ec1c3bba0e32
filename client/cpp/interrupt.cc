#include "client/cpp/interrupt.h"

#include <utility>

namespace quotient::client {

void Interrupt::Trigger() {
  absl::MutexLock lock(&mutex_);
  if (signal_.is_set()) return;
  signal_.Set();
  for (const auto& action : actions_) action();
}

Interrupt::Handler::Handler(Interrupt* interrupt, std::function<void()> action)
    : interrupt_(*interrupt) {
  absl::MutexLock lock(&interrupt_.mutex_);
  position_ = interrupt_.actions_.insert(interrupt_.actions_.end(), std::move(action));
  if (interrupt_.triggered()) (*position_)();
}

Interrupt::Handler::~Handler() {
  absl::MutexLock lock(&interrupt_.mutex_);
  interrupt_.actions_.erase(position_);
}

}  // namespace quotient::client
