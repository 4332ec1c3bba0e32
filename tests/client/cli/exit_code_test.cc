#include "client/cli/exit_code.h"

#include <gtest/gtest.h>

#include "core/base/reason.h"

namespace quotient::cli {
namespace {

TEST(ExitCodeTest, FollowsTheReason) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kOptionInvalid, "")), 2);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kJobNotFound, "")), 2);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kModelMalformed, "")), 3);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kExternalDataPath, "")), 3);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kExternalDataMissing, "")), 3);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kOpsetUnknown, "")), 3);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kStorageDown, "")), 4);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kInternal, "")), 4);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kRunBudget, "")), 5);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kCancelled, "")), 5);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kJournalInvalid, "")), 1);
  EXPECT_EQ(ExitCodeOf(MakeError(Reason::kJournalVersion, "")), 2);
}

TEST(ExitCodeTest, FollowsTheCodeWhereThereIsNoReason) {
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 5);
}

}  // namespace
}  // namespace quotient::cli
