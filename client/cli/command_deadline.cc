#include "client/cli/command_deadline.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/reason.h"

namespace quotient::cli {

CommandDeadline::CommandDeadline(double seconds, client::Interrupt* interrupt) : seconds_(seconds) {
  if (seconds == 0) return;
  timer_ = std::jthread([this, interrupt] {
    if (done_.AwaitFor(absl::Seconds(seconds_))) return;
    passed_ = true;
    interrupt->Trigger();
  });
}

absl::Status CommandDeadline::Explained(const absl::Status& outcome) const {
  if (!passed_ || !absl::IsCancelled(outcome)) return outcome;
  return MakeError(Reason::kRunBudget,
                   absl::StrCat("there is no result after ", seconds_, " s (--max-seconds)"));
}

}  // namespace quotient::cli
