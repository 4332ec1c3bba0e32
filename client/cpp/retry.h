#pragma once

// When to try again, and when to give up: only UNAVAILABLE is tried again, with growing pauses, for
// as long as the patience lasts since things last moved.
//
//   Retry retry(patience, interrupt);
//   do {
//     status = Attempt();
//   } while (retry.Again(status));

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/interrupt.h"

namespace quotient::client {

class Retry {
 public:
  // Borrows the interrupt.
  Retry(absl::Duration patience, const Interrupt* interrupt);

  // The attempt got somewhere: patience starts anew.
  void Progressed();
  // Pauses and says true if the attempt should be repeated. False after the interrupt.
  bool Again(const absl::Status& status);

 private:
  const absl::Duration patience_;
  const Interrupt& interrupt_;
  absl::Time give_up_;
  absl::Duration pause_;
};

}  // namespace quotient::client
