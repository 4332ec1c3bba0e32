#pragma once

// What a store says of the bytes that a client's jobs have.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "server/jobs/job_store.h"
#include "tests/support/status_matchers.h"

namespace quotient::testing {

inline int64_t BytesOf(jobs::JobStore& store, absl::string_view client) {
  int64_t bytes = -1;
  EXPECT_OK(store.Write([&](jobs::JobTransaction& transaction) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(bytes, transaction.BytesOf(client));
    return absl::OkStatus();
  }));
  return bytes;
}

}  // namespace quotient::testing
