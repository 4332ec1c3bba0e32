#include "server/store/sqlite/schema.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/store/sqlite/client_bytes.h"
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
    // What is searched for is in rows of its own, since the record of a job can have megabytes.
    R"sql(
CREATE TABLE job_index (
  number INTEGER PRIMARY KEY REFERENCES job (number),
  state TEXT NOT NULL,
  action_key TEXT NOT NULL,
  reusable INTEGER NOT NULL,
  joinable INTEGER NOT NULL,
  client TEXT NOT NULL,
  rank INTEGER NOT NULL,
  graph TEXT NOT NULL,
  create_ms INTEGER NOT NULL,
  start_by_ms INTEGER NOT NULL,
  use_ms INTEGER NOT NULL
) STRICT;
DROP INDEX job_by_state;
DROP INDEX job_by_action_key;
CREATE INDEX job_by_state ON job_index (state, number);
CREATE INDEX job_by_action_key ON job_index (action_key, reusable, number);
CREATE INDEX job_queue ON job_index (client, rank, number) WHERE state = 'QUEUED';
CREATE INDEX job_overdue ON job_index (start_by_ms) WHERE start_by_ms > 0;
CREATE INDEX job_by_use ON job_index (use_ms) WHERE use_ms > 0;
CREATE INDEX job_by_client ON job_index (client, number);
CREATE INDEX job_by_graph ON job_index (graph, number);

CREATE TABLE job_blob (
  sha256 TEXT NOT NULL,
  job_id TEXT NOT NULL REFERENCES job (id),
  PRIMARY KEY (sha256, job_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_blob_by_job ON job_blob (job_id);

ALTER TABLE submission ADD COLUMN takes_early INTEGER NOT NULL DEFAULT 0;
)sql",
    // Here the tables of version 2 are filled from the records; see FillTables.
    "",
    // Sums that would take long for a client with many jobs; CountAllBlobs fills them at once.
    R"sql(
CREATE TABLE client_blob (
  client TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  jobs INTEGER NOT NULL,
  PRIMARY KEY (client, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE client_total (
  client TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql",
    // What a job's own rows take, so that records count, too; CountAllRows fills it.
    R"sql(
ALTER TABLE job_index ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
)sql",
    // Blobs that no job has count, too, as rows with no jobs.
    R"sql(
CREATE INDEX client_blob_loose ON client_blob (sha256) WHERE jobs = 0;
)sql",
};
constexpr int64_t kVersion = std::size(kMigrations);
constexpr int64_t kFilledVersion = 3;
constexpr int64_t kBlobsCountedVersion = 4;
constexpr int64_t kRowsCountedVersion = 5;
// So many jobs are looked at in one transaction.
constexpr int kBatch = 200;

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

// Ends a transaction, with a commit if `status` is OK.
absl::Status EndTransaction(Database& database, absl::Status status) {
  if (status.ok()) status = database.Execute("COMMIT");
  if (!status.ok()) database.Execute("ROLLBACK").IgnoreError();
  return status;
}

// Writes the rows of job_index and job_blob of up to kBatch jobs after `number`, which becomes that
// of the last one, or 0 behind the last one of all. What the jobs made counts as used now.
absl::Status FillBatch(Database& database, int64_t now_ms, int64_t* number) {
  std::vector<int64_t> numbers;
  QUOTIENT_RETURN_IF_ERROR(
      database.Run("SELECT number FROM job WHERE number > ? ORDER BY number LIMIT ?",
                   {*number, int64_t{kBatch}}, [&](const Row& row) {
                     numbers.push_back(row.Int(0));
                     return absl::OkStatus();
                   }));
  *number = numbers.empty() ? 0 : numbers.back();
  for (const int64_t each : numbers) {
    absl::StatusOr<jobs::Job> job = absl::InternalError("the job is gone");
    QUOTIENT_RETURN_IF_ERROR(database.Run(
        "SELECT " QUOTIENT_JOB_COLUMNS " FROM job WHERE number = ?", {each}, [&](const Row& row) {
          job = ReadJob(row);
          return absl::OkStatus();
        }));
    if (!job.ok()) {
      Log().error("job number {} is left out: {}", each, std::string(job.status().message()));
      continue;
    }
    if (IsTerminal(job->state)) job->use_ms = now_ms;
    QUOTIENT_RETURN_IF_ERROR(PutJob(database, *job).status());
    QUOTIENT_RETURN_IF_ERROR(PutBlobs(database, job->id, jobs::BlobsOf(*job)));
  }
  return absl::OkStatus();
}

// In parts, since all at once would need as much room again as all jobs take. What was filled
// before a crash is filled again.
absl::Status FillTables(Database& database, int64_t now_ms) {
  int64_t number = 0;
  do {
    QUOTIENT_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
    QUOTIENT_RETURN_IF_ERROR(EndTransaction(database, FillBatch(database, now_ms, &number)));
  } while (number > 0);
  return database.Execute(SetVersion(kFilledVersion).c_str());
}

// Makes the tables of version `to`.
absl::Status Migrate(Database& database, int64_t from, int64_t to) {
  QUOTIENT_RETURN_IF_ERROR(database.Execute("BEGIN EXCLUSIVE"));
  absl::Status status;
  for (int64_t version = from; version < to && status.ok(); ++version) {
    status = database.Execute(kMigrations[version]);
    if (status.ok() && version + 1 == kBlobsCountedVersion) status = CountAllBlobs(database);
    if (status.ok() && version + 1 == kRowsCountedVersion) status = CountAllRows(database);
  }
  if (status.ok()) status = database.Execute(SetVersion(to).c_str());
  return EndTransaction(database, status);
}

}  // namespace

absl::Status PrepareSchema(Database& database, int64_t now_ms) {
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
  if (version < kFilledVersion - 1) {
    QUOTIENT_RETURN_IF_ERROR(Migrate(database, version, kFilledVersion - 1));
  }
  if (version < kFilledVersion) QUOTIENT_RETURN_IF_ERROR(FillTables(database, now_ms));
  return Migrate(database, std::max(version, kFilledVersion), kVersion);
}

}  // namespace quotient::store
