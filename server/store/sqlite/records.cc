#include "server/store/sqlite/records.h"

#include <optional>

#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/jobs/convert.h"

namespace quotient::store {

std::string JobRecord(const jobs::Job& job) {
  return jobs::ToProto(job, /*progress=*/std::nullopt).SerializeAsString();
}

absl::StatusOr<jobs::Job> ReadJob(const Row& row) {
  v1::Job message;
  if (!message.ParseFromString(row.Text(0))) {
    return MakeError(Reason::kInternal, "a job's record cannot be read");
  }
  QUOTIENT_ASSIGN_OR_RETURN(jobs::Job job, jobs::FromProto(message));
  job.lease_epoch = row.Int(1);
  return job;
}

absl::StatusOr<jobs::Transition> ReadTransition(const Row& row) {
  const std::optional<jobs::JobState> from = jobs::JobStateFromName(row.Text(3));
  const std::optional<jobs::JobState> to = jobs::JobStateFromName(row.Text(4));
  if (!from.has_value() || !to.has_value()) {
    return MakeError(Reason::kInternal, "a transition between unknown states");
  }
  return jobs::Transition{.job_id = row.Text(0),
                          .sequence = row.Int(1),
                          .time_ms = row.Int(2),
                          .from = *from,
                          .to = *to,
                          .actor = row.Text(5),
                          .reason = row.Text(6)};
}

jobs::Lease ReadLease(const Row& row) { return {row.Text(0), row.Text(1), row.Int(2)}; }

jobs::Submission ReadSubmission(const Row& row) {
  return {row.Text(0), row.Text(1), row.Text(2), row.Int(3), row.Int(4) != 0};
}

}  // namespace quotient::store
