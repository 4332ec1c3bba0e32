#pragma once

// The tables, and how a database of an older version becomes one of this version. FORMAT.md tells
// what they hold.

#include "absl/status/status.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

// Creates the tables or brings them up to date, in one transaction, after checking the file for
// damage. FAILED_PRECONDITION if a newer version of Quotient has written the database.
absl::Status PrepareSchema(Database& database);

}  // namespace quotient::store
