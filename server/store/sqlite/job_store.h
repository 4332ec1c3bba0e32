#pragma once

// A job store in a SQLite file on a local disk. One connection makes all writes and WAL
// checkpoints; a second one reads. FORMAT.md describes the tables.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "server/jobs/job_store.h"

namespace quotient::store {

// Opens the store. The caller must hold the lock of the data folder, so that no other process
// writes to the file. Borrows `clock`, which becomes the store's clock.
absl::StatusOr<std::unique_ptr<jobs::JobStore>> OpenSqliteJobStore(const std::string& path,
                                                                   const Clock* clock);

}  // namespace quotient::store
