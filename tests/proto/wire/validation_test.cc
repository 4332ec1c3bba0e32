#include "proto/wire/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/reason.h"
#include "tests/support/status_matchers.h"

namespace quotient::wire {
namespace {

using ::quotient::testing::HasReason;
using ::testing::ElementsAre;

TEST(WireValidationTest, NothingIsLost) {
  const optimize::Validation before{.untouched = MakeError(Reason::kModelShape, "odd"),
                                    .notes = {"one", "two"}};
  const optimize::Validation after = FromProto(ToProto(before));
  EXPECT_THAT(after.untouched, HasReason(Reason::kModelShape, "odd"));
  EXPECT_THAT(after.notes, ElementsAre("one", "two"));
}

TEST(WireValidationTest, AModelThatWouldBeOptimizedHasNoError) {
  const v1::ValidateModelResponse message = ToProto(optimize::Validation{});
  EXPECT_FALSE(message.has_untouched());
  EXPECT_OK(FromProto(message).untouched);
}

TEST(WireValidationTest, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(ToProto(optimize::Validation{.notes = {"a\xff"}}).notes(0), "a?");
}

}  // namespace
}  // namespace quotient::wire
