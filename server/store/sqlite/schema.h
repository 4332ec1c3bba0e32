#pragma once

// The tables of the database, and their migration from older versions. FORMAT.md describes the
// tables.

#include <cstdint>

#include "absl/status/status.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

// Checks the file for damage, and creates or updates the tables. If that is interrupted, the next
// call goes on. `now_ms` is Unix time, at which older jobs are taken to have been used last.
// Returns FAILED_PRECONDITION if a newer version of Quotient has written the database.
absl::Status PrepareSchema(Database& database, int64_t now_ms);

}  // namespace quotient::store
