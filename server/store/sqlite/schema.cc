#include "server/store/sqlite/schema.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::store {
namespace {

// One script per version. A new version adds a script; old ones must never be changed.
constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE job (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  action_key TEXT NOT NULL,
  lease_epoch INTEGER NOT NULL,
  record BLOB NOT NULL
) STRICT;
CREATE INDEX job_by_state ON job (state, number);
CREATE INDEX job_by_action_key ON job (action_key, number);

CREATE TABLE job_lease (
  job_id TEXT PRIMARY KEY REFERENCES job (id),
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE job_transition (
  job_id TEXT NOT NULL REFERENCES job (id),
  sequence INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (job_id, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE submission (
  request_id TEXT PRIMARY KEY,
  payload TEXT NOT NULL,
  job_id TEXT NOT NULL REFERENCES job (id),
  create_ms INTEGER NOT NULL,
  withdrawn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX submission_by_job ON submission (job_id);
CREATE INDEX submission_by_time ON submission (create_ms);
)sql",
};
constexpr int64_t kVersion = std::size(kMigrations);

// PRAGMA takes no parameters.
std::string SetVersion(int64_t version) { return absl::StrCat("PRAGMA user_version = ", version); }

absl::Status CheckIntegrity(Database& database) {
  std::string verdict;
  QUOTIENT_RETURN_IF_ERROR(database.Run("PRAGMA quick_check(1)", {}, [&](const Row& row) {
    verdict = row.Text(0);
    return absl::OkStatus();
  }));
  if (verdict == "ok") return absl::OkStatus();
  return MakeError(Reason::kStorageDown, absl::StrCat("database is damaged: ", verdict));
}

absl::Status Migrate(Database& database, int64_t from) {
  for (int64_t version = from; version < kVersion; ++version) {
    QUOTIENT_RETURN_IF_ERROR(database.Execute(kMigrations[version]));
  }
  return database.Execute(SetVersion(kVersion).c_str());
}

}  // namespace

absl::Status PrepareSchema(Database& database) {
  // With FULL, the write-ahead log is synced at each commit, so a commit is durable when it
  // returns.
  QUOTIENT_RETURN_IF_ERROR(
      database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                       "PRAGMA foreign_keys = ON;"));
  QUOTIENT_RETURN_IF_ERROR(CheckIntegrity(database));
  int64_t version = 0;
  QUOTIENT_RETURN_IF_ERROR(database.Run("PRAGMA user_version", {}, [&](const Row& row) {
    version = row.Int(0);
    return absl::OkStatus();
  }));
  if (version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the database has version ", version,
                                                      ", this program knows up to ", kVersion));
  }
  if (version == kVersion) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(database.Execute("BEGIN EXCLUSIVE"));
  absl::Status migrated = Migrate(database, version);
  if (migrated.ok()) migrated = database.Execute("COMMIT");
  if (!migrated.ok()) database.Execute("ROLLBACK").IgnoreError();
  return migrated;
}

}  // namespace quotient::store
