#pragma once

// --max-seconds: how long a command may take.

#include <atomic>
#include <thread>

#include "absl/status/status.h"
#include "client/cpp/interrupt.h"
#include "core/base/stop_signal.h"

namespace quotient::cli {

// Triggers the interrupt of a command when its time is up. One thread at a time.
class CommandDeadline {
 public:
  // 0 seconds are no deadline. Borrows the interrupt.
  CommandDeadline(double seconds, client::Interrupt* interrupt);
  ~CommandDeadline() { done_.Set(); }
  CommandDeadline(const CommandDeadline&) = delete;
  CommandDeadline& operator=(const CommandDeadline&) = delete;

  // The outcome of the command, with RUN_BUDGET in place of an error that the deadline has caused.
  absl::Status Explained(const absl::Status& outcome) const;

 private:
  const double seconds_;
  std::atomic<bool> passed_ = false;  // Written once, by timer_.
  StopSignal done_;                   // Ends timer_.
  std::jthread timer_;                // Not started if there is no deadline.
};

}  // namespace quotient::cli
