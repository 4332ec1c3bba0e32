#pragma once

// The tables of the database, and their migration from older versions. FORMAT.md describes the
// tables.

#include "absl/status/status.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

// Checks the file for damage, and creates or updates the tables in one transaction. Returns
// FAILED_PRECONDITION if a newer version of Quotient has written the database.
absl::Status PrepareSchema(Database& database);

}  // namespace quotient::store
