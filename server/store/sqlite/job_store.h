#pragma once

// Jobs in a SQLite file on a local disk. One connection makes all writes and all checkpoints; a
// second one reads. FORMAT.md describes the tables.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "server/jobs/job_store.h"

namespace quotient::store {

// The caller holds the data folder's lock: nobody else writes to this file. The clock, borrowed, is
// the store's clock.
absl::StatusOr<std::unique_ptr<jobs::JobStore>> OpenSqliteJobStore(const std::string& path,
                                                                   const Clock* clock);

}  // namespace quotient::store
