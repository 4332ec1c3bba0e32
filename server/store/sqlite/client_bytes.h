#pragma once

// How many bytes are stored for each client, for quotas: the tables client_blob and client_total,
// and the column job_index.bytes. A job counts for the client of its row in job_index, with its
// rows in job_blob and with what its own rows take; one that is left out of job_index counts for
// nobody. A loose blob, which no row of job_blob has, counts for the client of its row in
// client_blob, of which it has one. All of that changes in the transaction that changes these rows,
// so asking takes as long however many jobs a client has.

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "server/jobs/job.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

// Returns the bytes of its own rows with which the job counts for its client now. Nothing if it
// does not count for it: then it is to be added anew, with all of its blobs.
absl::StatusOr<std::optional<int64_t>> CountedRows(Database& database, const jobs::Job& job);
// Counts so many bytes of the job's own rows for its client instead of `before`.
absl::Status CountRows(Database& database, const jobs::Job& job, int64_t before, int64_t bytes);
// Adds the blobs that the job refers to, if they are not there yet, and counts them for its client.
absl::Status AddBlobs(Database& database, const jobs::Job& job);
// Removes the job's blobs, so that it counts for nobody. Those that no other job has are then loose
// for its client. Its row in job_index has to be there yet.
absl::Status RemoveBlobs(Database& database, absl::string_view job_id);
// The same without removing them: they stay needed, and count for nobody but other jobs.
absl::Status Discount(Database& database, absl::string_view job_id);

// See JobTransaction::PutLoose and RemoveLoose.
absl::Status PutLooseBlobs(Database& database, absl::string_view client,
                           std::span<const BlobId> blobs);
absl::Status RemoveLooseBlobs(Database& database, std::span<const BlobId> blobs);

// See JobTransaction::BytesOf and BytesNewTo.
absl::StatusOr<int64_t> BytesOfClient(Database& database, absl::string_view client);
absl::StatusOr<int64_t> BytesNewToClient(Database& database, absl::string_view client,
                                         std::span<const BlobId> blobs);

// Fills both tables, which are empty, with the blobs of all jobs; and the column with what their
// own rows take, which it adds to the totals.
absl::Status CountAllBlobs(Database& database);
absl::Status CountAllRows(Database& database);

}  // namespace quotient::store
