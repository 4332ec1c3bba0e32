#include "server/store/sqlite/schema.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/store/sqlite/records.h"

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
    R"sql(
ALTER TABLE job ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN graph TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN create_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN start_by_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN use_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN reusable INTEGER NOT NULL DEFAULT 0;
DROP INDEX job_by_action_key;
CREATE INDEX job_by_action_key ON job (action_key, reusable, number);
CREATE INDEX job_queue ON job (client, rank, number) WHERE state = 'QUEUED';
CREATE INDEX job_overdue ON job (start_by_ms) WHERE state = 'QUEUED' AND start_by_ms > 0;
CREATE INDEX job_by_use ON job (use_ms) WHERE use_ms > 0;
CREATE INDEX job_by_client ON job (client, number);
CREATE INDEX job_by_graph ON job (graph, number);

CREATE TABLE job_blob (
  sha256 TEXT NOT NULL,
  job_id TEXT NOT NULL REFERENCES job (id),
  PRIMARY KEY (sha256, job_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_blob_by_job ON job_blob (job_id);
)sql",
};
constexpr int64_t kVersion = std::size(kMigrations);
// The version whose new columns and rows follow from the records of the jobs.
constexpr int64_t kVersionOfColumns = 2;

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

// Puts all jobs again. A record can have megabytes, so not more than one is in memory at a time.
absl::Status PutAll(Database& database) {
  std::vector<int64_t> numbers;
  QUOTIENT_RETURN_IF_ERROR(database.Run("SELECT number FROM job", {}, [&](const Row& row) {
    numbers.push_back(row.Int(0));
    return absl::OkStatus();
  }));
  for (const int64_t number : numbers) {
    jobs::Job job;
    QUOTIENT_RETURN_IF_ERROR(database.Run("SELECT " QUOTIENT_JOB_COLUMNS
                                          " FROM job WHERE number = ?",
                                          {number}, [&](const Row& row) -> absl::Status {
                                            QUOTIENT_ASSIGN_OR_RETURN(job, ReadJob(row));
                                            return absl::OkStatus();
                                          }));
    QUOTIENT_RETURN_IF_ERROR(PutJob(database, job));
  }
  return absl::OkStatus();
}

absl::Status Migrate(Database& database, int64_t from) {
  for (int64_t version = from; version < kVersion; ++version) {
    QUOTIENT_RETURN_IF_ERROR(database.Execute(kMigrations[version]));
  }
  if (from < kVersionOfColumns) QUOTIENT_RETURN_IF_ERROR(PutAll(database));
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
