#pragma once

// Decides when to retry and when to give up. What may pass (proto/wire/status.h) is retried, with
// growing pauses, until the time `patience` has passed since the last progress.
//
//   Retry retry(patience, interrupt);
//   do {
//     status = Attempt();
//   } while (retry.Again(status));

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/interrupt.h"

namespace quotient::client {

class Retry {
 public:
  // Borrows the interrupt.
  Retry(absl::Duration patience, const Interrupt* interrupt);

  // Restarts the time limit and the pauses, because the attempt has made progress.
  void Progressed();
  // Pauses and returns true if the attempt should be repeated. Returns false after the interrupt.
  bool Again(const absl::Status& status);

 private:
  const absl::Duration patience_;
  const Interrupt& interrupt_;
  int64_t give_up_ns_;  // By the monotonic clock.
  absl::Duration pause_;
};

}  // namespace quotient::client
