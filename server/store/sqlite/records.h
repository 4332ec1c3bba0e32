#pragma once

// Converts between rows of the database and values.

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "server/jobs/job.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

// The columns that ReadJob and ReadTransition expect, in this order.
#define QUOTIENT_JOB_COLUMNS  \
  "record, lease_epoch, id, " \
  "COALESCE((SELECT job_index.state FROM job_index WHERE job_index.number = job.number), '')"
#define QUOTIENT_TRANSITION_COLUMNS "job_id, sequence, time_ms, from_state, to_state, actor, reason"

// Adds the rows of a job in `job` and `job_index`, or replaces them. Returns jobs::RowBytes, which
// is not counted yet (client_bytes.h).
absl::StatusOr<int64_t> PutJob(Database& database, const jobs::Job& job);
// Adds blobs to those that the job refers to, if they are not among them yet.
absl::Status PutBlobs(Database& database, absl::string_view job_id, std::span<const BlobId> blobs);

// Both return INTERNAL if the record cannot be read. The record of a job has to have the id of its
// row, or else a change of it would be written to another job; and the state by which job_index has
// it, or else a worker would find it again and again and never claim it.
absl::StatusOr<jobs::Job> ReadJob(const Row& row);
absl::StatusOr<jobs::Transition> ReadTransition(const Row& row);
// Expects the columns job_id, owner, epoch.
jobs::Lease ReadLease(const Row& row);
// Expects the columns request_id, payload, job_id, create_ms, withdrawn, takes_early.
jobs::Submission ReadSubmission(const Row& row);

}  // namespace quotient::store
