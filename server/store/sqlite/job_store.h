#pragma once

// A job store in a SQLite file on a local disk. One connection makes all writes and WAL
// checkpoints; a second one reads. FORMAT.md describes the tables.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "server/jobs/job_store.h"

namespace quotient::store {

struct SqliteSettings {
  // The file is rewritten only if that leaves so much free.
  int64_t min_free_bytes = 0;
  // Called when a write has failed for want of room, or otherwise; thread-safe.
  std::function<void()> on_failure = [] {};
};

// Opens the store. The caller must hold the lock of the data folder, so that no other process
// writes to the file. Borrows `clock`, which becomes the store's clock. Temporary files that SQLite
// needs go into the folder of `path` from now on, those of other databases of the process, too; no
// other thread may use SQLite meanwhile.
absl::StatusOr<std::unique_ptr<jobs::JobStore>> OpenSqliteJobStore(const std::string& path,
                                                                   const Clock* clock,
                                                                   SqliteSettings settings = {});

}  // namespace quotient::store
