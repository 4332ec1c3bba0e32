#include "client/cli/command_deadline.h"

#include <gmock/gmock.h>

#include "core/base/reason.h"
#include "tests/support/status_matchers.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::HasReason;
using ::testing::HasSubstr;

TEST(CommandDeadlineTest, InterruptsWhatTakesLonger) {
  client::Interrupt interrupt;
  const CommandDeadline deadline(0.001, &interrupt);
  EXPECT_TRUE(interrupt.WaitFor(absl::Minutes(5)));
  EXPECT_THAT(deadline.Explained(MakeError(Reason::kCancelled, "interrupted")),
              HasReason(Reason::kRunBudget, HasSubstr("0.001 s (--max-seconds)")));
  EXPECT_OK(deadline.Explained(absl::OkStatus()));
  EXPECT_THAT(deadline.Explained(MakeError(Reason::kInternal, "")), HasReason(Reason::kInternal));
}

TEST(CommandDeadlineTest, LeavesWhatEndsBefore) {
  client::Interrupt interrupt;
  {
    const CommandDeadline deadline(300, &interrupt);
    EXPECT_THAT(deadline.Explained(MakeError(Reason::kCancelled, "by the user")),
                HasReason(Reason::kCancelled));
  }
  { const CommandDeadline none(0, &interrupt); }
  EXPECT_FALSE(interrupt.triggered());
}

}  // namespace
}  // namespace quotient::cli
