#pragma once

// How many bytes the jobs of each client refer to, for quotas: the tables client_blob and
// client_total. A job counts for the client of its row in job_index, with its rows in job_blob; one
// that is left out of job_index counts for nobody. Both tables change in the transaction that
// changes these rows, so asking takes as long however many jobs a client has.

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "server/jobs/job.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

// Whether the job counts for its client now. If not, it is to be added anew: with all of its blobs.
absl::StatusOr<bool> IsCounted(Database& database, const jobs::Job& job);
// Adds the blobs that the job refers to, if they are not there yet, and counts them for its client.
absl::Status AddBlobs(Database& database, const jobs::Job& job);
// Removes the job's blobs, so that it counts for nobody. Its row in job_index has to be there yet.
absl::Status RemoveBlobs(Database& database, absl::string_view job_id);
// The same without removing them: they stay needed.
absl::Status Discount(Database& database, absl::string_view job_id);

// See JobTransaction::BytesOf and BytesNewTo.
absl::StatusOr<int64_t> BytesOfClient(Database& database, absl::string_view client);
absl::StatusOr<int64_t> BytesNewToClient(Database& database, absl::string_view client,
                                         std::span<const BlobId> blobs);

// Fills both tables, which are empty, from all jobs.
absl::Status CountAllJobs(Database& database);

}  // namespace quotient::store
