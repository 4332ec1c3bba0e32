#include "server/store/sqlite/client_bytes.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "server/store/sqlite/records.h"

namespace quotient::store {
namespace {

// No file is as large as that, but a damaged record may say so, and sums must not overflow.
constexpr int64_t kMostBlobBytes = int64_t{1} << 46;

int64_t CountedBytes(const BlobId& blob) { return std::min(blob.size_bytes, kMostBlobBytes); }

// For whom something counts now, and with how many bytes.
struct Counted {
  std::string client;
  int64_t bytes = 0;
};

// The same of a job's own rows.
absl::StatusOr<std::optional<Counted>> FindCounted(Database& database, absl::string_view job_id) {
  std::optional<Counted> counted;
  QUOTIENT_RETURN_IF_ERROR(
      database.Run("SELECT client, bytes FROM job_index JOIN job USING (number) WHERE id = ?",
                   {job_id}, [&](const Row& row) {
                     counted = {row.Text(0), row.Int(1)};
                     return absl::OkStatus();
                   }));
  return counted;
}

absl::Status AddToTotal(Database& database, absl::string_view client, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(
      database.Run("INSERT INTO client_total (client, bytes) VALUES (?1, ?2)"
                   " ON CONFLICT (client) DO UPDATE SET bytes = bytes + ?2",
                   {client, bytes}));
  return database.Run("DELETE FROM client_total WHERE client = ? AND bytes = 0", {client});
}

// The blobs of the job that are not in job_blob yet, each of them once.
absl::StatusOr<std::vector<BlobId>> BlobsToAdd(Database& database, const jobs::Job& job) {
  absl::flat_hash_set<std::string> present;
  QUOTIENT_RETURN_IF_ERROR(
      database.Run("SELECT sha256 FROM job_blob WHERE job_id = ?", {job.id}, [&](const Row& row) {
        present.insert(row.Text(0));
        return absl::OkStatus();
      }));
  std::vector<BlobId> blobs;
  for (const BlobId& blob : jobs::BlobsOf(job)) {
    if (present.insert(blob.digest.Hex()).second) blobs.push_back(blob);
  }
  return blobs;
}

// Whether the statement finds a row.
absl::StatusOr<bool> Finds(Database& database, const char* sql,
                           std::initializer_list<Parameter> parameters) {
  bool found = false;
  QUOTIENT_RETURN_IF_ERROR(database.Run(sql, parameters, [&](const Row& /*row*/) {
    found = true;
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<bool> HasBlob(Database& database, absl::string_view client, const BlobId& blob) {
  const std::string sha256 = blob.digest.Hex();
  return Finds(database, "SELECT 1 FROM client_blob WHERE client = ? AND sha256 = ?",
               {client, sha256});
}

// If the blob is loose, it is not any more, unless it is so for the client `kept`.
absl::Status RemoveLoose(Database& database, const BlobId& blob,
                         std::optional<absl::string_view> kept) {
  const std::string sha256 = blob.digest.Hex();
  std::vector<Counted> removed;
  QUOTIENT_RETURN_IF_ERROR(
      database.Run("DELETE FROM client_blob WHERE sha256 = ?1 AND jobs = 0"
                   " AND NOT (?2 AND client = ?3) RETURNING client, bytes",
                   {sha256, int64_t{kept.has_value()}, kept.value_or("")}, [&](const Row& row) {
                     removed.push_back({row.Text(0), row.Int(1)});
                     return absl::OkStatus();
                   }));
  for (const Counted& each : removed) {
    QUOTIENT_RETURN_IF_ERROR(AddToTotal(database, each.client, -each.bytes));
  }
  return absl::OkStatus();
}

// Counts a blob that counts for nobody as a loose one of this client.
absl::Status AddLoose(Database& database, absl::string_view client, const BlobId& blob) {
  const std::string sha256 = blob.digest.Hex();
  QUOTIENT_RETURN_IF_ERROR(
      database.Run("INSERT INTO client_blob (client, sha256, bytes, jobs) VALUES (?, ?, ?, 0)",
                   {client, sha256, CountedBytes(blob)}));
  return AddToTotal(database, client, CountedBytes(blob));
}

#define QUOTIENT_BLOBS_OF_JOB \
  " WHERE client = ?1 AND sha256 IN (SELECT sha256 FROM job_blob WHERE job_id = ?2)"
// Those that no other job of the client has; and of these, those that another job has.
#define QUOTIENT_OWN_BLOBS_OF_JOB QUOTIENT_BLOBS_OF_JOB " AND jobs = 1"
#define QUOTIENT_SHARED_BLOBS_OF_JOB             \
  QUOTIENT_OWN_BLOBS_OF_JOB                      \
  " AND EXISTS (SELECT 1 FROM job_blob AS other" \
  "  WHERE other.sha256 = client_blob.sha256 AND other.job_id <> ?2)"

// Counts the job for its client no more: neither its rows nor those blobs of it that `sum` and
// `remove` are about. Of the others that the client has, one job less has them.
absl::Status CountOff(Database& database, absl::string_view job_id, const char* sum,
                      const char* remove) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Counted> counted, FindCounted(database, job_id));
  if (!counted.has_value()) return absl::OkStatus();
  const std::string& client = counted->client;
  int64_t removed = counted->bytes;
  QUOTIENT_RETURN_IF_ERROR(database.Run(sum, {client, job_id}, [&](const Row& row) {
    removed += row.Int(0);
    return absl::OkStatus();
  }));
  QUOTIENT_RETURN_IF_ERROR(database.Run(remove, {client, job_id}));
  QUOTIENT_RETURN_IF_ERROR(database.Run(
      "UPDATE client_blob SET jobs = jobs - 1" QUOTIENT_BLOBS_OF_JOB, {client, job_id}));
  return AddToTotal(database, client, -removed);
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> CountedRows(Database& database, const jobs::Job& job) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Counted> counted, FindCounted(database, job.id));
  if (!counted.has_value() || counted->client != job.client) return std::optional<int64_t>();
  return std::optional<int64_t>(counted->bytes);
}

absl::Status CountRows(Database& database, const jobs::Job& job, int64_t before, int64_t bytes) {
  QUOTIENT_RETURN_IF_ERROR(database.Run(
      "UPDATE job_index SET bytes = ? WHERE number = (SELECT number FROM job WHERE id = ?)",
      {bytes, job.id}));
  return AddToTotal(database, job.client, bytes - before);
}

absl::Status AddBlobs(Database& database, const jobs::Job& job) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<BlobId> blobs, BlobsToAdd(database, job));
  if (blobs.empty()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t added, BytesNewToClient(database, job.client, blobs));
  QUOTIENT_RETURN_IF_ERROR(PutBlobs(database, job.id, blobs));
  for (const BlobId& blob : blobs) {
    QUOTIENT_RETURN_IF_ERROR(RemoveLoose(database, blob, job.client));
    QUOTIENT_RETURN_IF_ERROR(
        database.Run("INSERT INTO client_blob (client, sha256, bytes, jobs) VALUES (?, ?, ?, 1)"
                     " ON CONFLICT (client, sha256) DO UPDATE SET jobs = jobs + 1",
                     {job.client, blob.digest.Hex(), CountedBytes(blob)}));
  }
  return AddToTotal(database, job.client, added);
}

absl::Status Discount(Database& database, absl::string_view job_id) {
  return CountOff(database, job_id,
                  "SELECT COALESCE(SUM(bytes), 0) FROM client_blob" QUOTIENT_OWN_BLOBS_OF_JOB,
                  "DELETE FROM client_blob" QUOTIENT_OWN_BLOBS_OF_JOB);
}

absl::Status RemoveBlobs(Database& database, absl::string_view job_id) {
  QUOTIENT_RETURN_IF_ERROR(
      CountOff(database, job_id,
               "SELECT COALESCE(SUM(bytes), 0) FROM client_blob" QUOTIENT_SHARED_BLOBS_OF_JOB,
               "DELETE FROM client_blob" QUOTIENT_SHARED_BLOBS_OF_JOB));
  return database.Run("DELETE FROM job_blob WHERE job_id = ?", {job_id});
}

absl::Status PutLooseBlobs(Database& database, absl::string_view client,
                           std::span<const BlobId> blobs) {
  for (const BlobId& blob : blobs) {
    const std::string sha256 = blob.digest.Hex();
    QUOTIENT_ASSIGN_OR_RETURN(
        const bool has_job,
        Finds(database, "SELECT 1 FROM job_blob WHERE sha256 = ? LIMIT 1", {sha256}));
    if (has_job) continue;
    QUOTIENT_RETURN_IF_ERROR(RemoveLoose(database, blob, client));
    QUOTIENT_ASSIGN_OR_RETURN(const bool is_its_own, HasBlob(database, client, blob));
    if (!is_its_own) QUOTIENT_RETURN_IF_ERROR(AddLoose(database, client, blob));
  }
  return absl::OkStatus();
}

absl::Status RemoveLooseBlobs(Database& database, std::span<const BlobId> blobs) {
  for (const BlobId& blob : blobs) {
    QUOTIENT_RETURN_IF_ERROR(RemoveLoose(database, blob, std::nullopt));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> BytesOfClient(Database& database, absl::string_view client) {
  int64_t bytes = 0;
  QUOTIENT_RETURN_IF_ERROR(database.Run("SELECT bytes FROM client_total WHERE client = ?", {client},
                                        [&](const Row& row) {
                                          bytes = row.Int(0);
                                          return absl::OkStatus();
                                        }));
  return bytes;
}

absl::StatusOr<int64_t> BytesNewToClient(Database& database, absl::string_view client,
                                         std::span<const BlobId> blobs) {
  int64_t bytes = 0;
  absl::flat_hash_set<Digest> seen;
  for (const BlobId& blob : blobs) {
    if (!seen.insert(blob.digest).second) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const bool has, HasBlob(database, client, blob));
    if (!has) bytes += CountedBytes(blob);
  }
  return bytes;
}

absl::Status CountAllBlobs(Database& database) {
  QUOTIENT_RETURN_IF_ERROR(
      database.Execute("CREATE TABLE blob_size (sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL)"
                       " STRICT, WITHOUT ROWID"));
  // Only records have sizes. Of a job whose record cannot be read they are 0, unless another job
  // has the same files.
  QUOTIENT_RETURN_IF_ERROR(database.Run(
      "SELECT " QUOTIENT_JOB_COLUMNS " FROM job", {}, [&](const Row& row) -> absl::Status {
        const absl::StatusOr<jobs::Job> job = ReadJob(row);
        if (!job.ok()) return absl::OkStatus();
        for (const BlobId& blob : jobs::BlobsOf(*job)) {
          QUOTIENT_RETURN_IF_ERROR(
              database.Run("INSERT OR IGNORE INTO blob_size (sha256, bytes) VALUES (?, ?)",
                           {blob.digest.Hex(), CountedBytes(blob)}));
        }
        return absl::OkStatus();
      }));
  return database.Execute(
      "INSERT INTO client_blob (client, sha256, bytes, jobs)"
      " SELECT client, sha256, COALESCE(bytes, 0), 1"
      " FROM job_index JOIN job USING (number) JOIN job_blob ON job_id = job.id"
      " LEFT JOIN blob_size USING (sha256) WHERE TRUE"
      " ON CONFLICT (client, sha256) DO UPDATE SET jobs = jobs + 1;"
      "INSERT INTO client_total (client, bytes)"
      " SELECT client, SUM(bytes) FROM client_blob GROUP BY client HAVING SUM(bytes) > 0;"
      "DROP TABLE blob_size");
}

// The numbers are those of jobs::RowBytes when this version was released. Each job is counted anew
// when it changes. A row without a job, which a damaged file may have, counts as nothing.
absl::Status CountAllRows(Database& database) {
  return database.Execute(
      "UPDATE job_index SET bytes ="
      " COALESCE((SELECT LENGTH(record) + 1024 +"
      "   320 * (SELECT COUNT(*) FROM job_blob WHERE job_id = job.id)"
      "  FROM job WHERE job.number = job_index.number), 0);"
      "INSERT INTO client_total (client, bytes)"
      " SELECT client, SUM(job_index.bytes) FROM job_index WHERE TRUE GROUP BY client"
      " HAVING SUM(job_index.bytes) > 0"
      " ON CONFLICT (client) DO UPDATE SET bytes = bytes + excluded.bytes");
}

}  // namespace quotient::store
