#pragma once

// Matchers and macros for absl::Status and StatusOr.
//
//   EXPECT_THAT(Parse(text), IsOk());
//   EXPECT_THAT(Parse("?"), HasReason(Reason::kModelMalformed, HasSubstr("line 1")));
//   ASSERT_OK_AND_ASSIGN(const Graph graph, Parse(text));

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::testing {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.ok();
}

MATCHER_P(StatusIs, code, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code;
}

MATCHER_P2(HasReason, reason, message, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return GetReason(status) == std::optional<Reason>(reason) &&
         ::testing::Matches(message)(std::string(status.message()));
}

inline auto HasReason(Reason reason) { return HasReason(reason, ::testing::_); }

}  // namespace quotient::testing

#define ASSERT_OK(expr) ASSERT_THAT((expr), ::quotient::testing::IsOk())
#define EXPECT_OK(expr) EXPECT_THAT((expr), ::quotient::testing::IsOk())

#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  QUOTIENT_TEST_ASSIGN_INNER(QUOTIENT_CONCAT(quotient_status_or_, __LINE__), lhs, expr)
#define QUOTIENT_TEST_ASSIGN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  ASSERT_THAT(tmp, ::quotient::testing::IsOk());   \
  lhs = *std::move(tmp)
