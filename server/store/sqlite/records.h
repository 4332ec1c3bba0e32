#pragma once

// Rows of the database as values, and back.

#include <string>

#include "absl/status/statusor.h"
#include "server/jobs/job.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

// The columns each reader below expects, in this order.
#define QUOTIENT_JOB_COLUMNS "record, lease_epoch"
#define QUOTIENT_TRANSITION_COLUMNS "job_id, sequence, time_ms, from_state, to_state, actor, reason"

std::string JobRecord(const jobs::Job& job);

// INTERNAL if the record cannot be read.
absl::StatusOr<jobs::Job> ReadJob(const Row& row);
absl::StatusOr<jobs::Transition> ReadTransition(const Row& row);
jobs::Lease ReadLease(const Row& row);  // job_id, owner, epoch, until_ms
jobs::Submission ReadSubmission(
    const Row& row);  // request_id, payload, job_id, create_ms, withdrawn

}  // namespace quotient::store
