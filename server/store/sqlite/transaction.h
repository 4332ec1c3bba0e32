#pragma once

// Reads and writes of jobs within one transaction of SQLite.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/jobs/job_store.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

absl::StatusOr<std::optional<jobs::Job>> FindJob(Database& db, absl::string_view id);
// A job whose record cannot be read has no result for others.
absl::StatusOr<std::optional<jobs::Job>> FindJobByActionKey(Database& db, absl::string_view key);

// The number that the statement selects.
absl::StatusOr<int> Count(Database& db, const char* sql,
                          std::initializer_list<Parameter> parameters);

// What one write of the store may do. The caller begins and ends the transaction. Borrows the
// connection.
std::unique_ptr<jobs::JobTransaction> NewTransaction(Database* db, int64_t now_ms);

}  // namespace quotient::store
