#pragma once

// QUOTIENT_RETURN_IF_ERROR(expr) and QUOTIENT_ASSIGN_OR_RETURN(lhs, expr) return from the function
// with the error of an absl::Status or absl::StatusOr. The Abseil release that we build with has
// none.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define QUOTIENT_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                        \
    if (absl::Status quotient_status = (expr); !quotient_status.ok()) return quotient_status; \
  } while (false)

#define QUOTIENT_CONCAT_INNER(a, b) a##b
#define QUOTIENT_CONCAT(a, b) QUOTIENT_CONCAT_INNER(a, b)

#define QUOTIENT_ASSIGN_OR_RETURN(lhs, expr) \
  QUOTIENT_ASSIGN_OR_RETURN_INNER(QUOTIENT_CONCAT(quotient_status_or_, __LINE__), lhs, expr)

// NOLINTBEGIN(bugprone-macro-parentheses): a name and a declaration cannot be in parentheses.
#define QUOTIENT_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                    \
  if (!tmp.ok()) return tmp.status();                   \
  lhs = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)
