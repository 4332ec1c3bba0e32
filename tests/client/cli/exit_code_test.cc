#include "client/cli/exit_code.h"

#include <gtest/gtest.h>

#include <optional>

#include "client/cli/build_failure.h"
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

TEST(ExitCodeTest, FollowsTheFailureOfABuild) {
  const struct {
    BuildFailure failure;
    int code;
    const char* name;
  } cases[] = {{BuildFailure::kLockInvalid, 2, "LOCK_INVALID"},
               {BuildFailure::kImprovementTooSmall, 6, "IMPROVEMENT_TOO_SMALL"},
               {BuildFailure::kLockMissing, 7, "LOCK_MISSING"},
               {BuildFailure::kLockDiffers, 7, "LOCK_DIFFERS"}};
  for (const auto& [failure, code, name] : cases) {
    const absl::Status status = Annotate(MakeError(failure, "m.lock"), "context");
    EXPECT_EQ(ExitCodeOf(status), code) << name;
    EXPECT_EQ(FailureName(status), name);
    EXPECT_EQ(GetBuildFailure(status), failure);
    EXPECT_EQ(GetReason(status), std::nullopt);
  }
  EXPECT_EQ(FailureName(MakeError(Reason::kModelShape, "")), "MODEL_SHAPE");
  EXPECT_EQ(FailureName(absl::InternalError("")), "INTERNAL");
  EXPECT_EQ(GetBuildFailure(absl::OkStatus()), std::nullopt);
}

TEST(ExitCodeTest, FollowsTheCodeWhereThereIsNoReason) {
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 5);
}

}  // namespace
}  // namespace quotient::cli
