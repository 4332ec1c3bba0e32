// Whatever the work does to its process, this one goes on and says what happened.

#include "tests/core/prove/apart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::quotient::testing::StatusIs;
using ::testing::HasSubstr;

TEST(RunApart, ReturnsTheAnswer) {
  const std::string longest(kMostAnswer, '\0');
  for (const std::string& answer : {std::string(), std::string("two\nlines\n"), longest}) {
    ASSERT_OK_AND_ASSIGN(const std::string received, RunApart([&] { return answer; }));
    EXPECT_EQ(received, answer);
  }
}

TEST(RunApart, ASignalIsNamed) {
  const auto ended = RunApart([]() -> std::string { std::abort(); });
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(std::string(ended.status().message()), HasSubstr("signal 6"));
}

TEST(RunApart, AStatusIsNamed) {
  const auto ended = RunApart([]() -> std::string { _exit(7); });
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(std::string(ended.status().message()), HasSubstr("status 7"));
}

TEST(RunApart, WhatNeverEndsIsEnded) {
  const auto work = []() -> std::string {
    for (;;) pause();
  };
  EXPECT_THAT(RunApart(work, {.seconds = 1}), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(RunApart, AnAnswerThatIsTooLongIsRefused) {
  EXPECT_THAT(RunApart([] { return std::string(kMostAnswer + 1, 'x'); }),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(RunApart, MemoryIsLimited) {
  const auto work = [] { return std::to_string(std::string(size_t{1} << 33, 'x').size()); };
  EXPECT_THAT(RunApart(work, {.memory_bytes = int64_t{2} << 30}),
              StatusIs(absl::StatusCode::kAborted));
}
#endif

}  // namespace
}  // namespace quotient::prove
