#include "server/store/sqlite/records.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/jobs/convert.h"

namespace quotient::store {
namespace {

// No job comes near these numbers. Adding to numbers far beyond them would overflow.
constexpr int64_t kMostSequence = int64_t{1} << 53;
constexpr int kMostAttempts = 1 << 30;

bool HasCounts(const jobs::Job& job) {
  return job.sequence >= 0 && job.sequence <= kMostSequence && job.attempt >= 0 &&
         job.attempt <= kMostAttempts;
}

}  // namespace

absl::StatusOr<int64_t> PutJob(Database& database, const jobs::Job& job) {
  const std::string record = jobs::ToProto(job, /*progress=*/std::nullopt).SerializeAsString();
  QUOTIENT_RETURN_IF_ERROR(database.Run(
      // Jobs are searched by job_index alone.
      "INSERT INTO job (id, state, action_key, lease_epoch, record) VALUES (?1, '', '', ?2, ?3)"
      " ON CONFLICT (id) DO UPDATE SET lease_epoch = ?2, record = ?3",
      {job.id, job.lease_epoch, Bytes{record}}));
  const bool goes_on =
      job.state == jobs::JobState::kQueued || job.state == jobs::JobState::kRunning;
  const bool waits = job.state == jobs::JobState::kQueued;
  QUOTIENT_RETURN_IF_ERROR(database.Run(
      "INSERT OR REPLACE INTO job_index (number, state, action_key, reusable, joinable, client,"
      " rank, graph, create_ms, start_by_ms, use_ms)"
      " VALUES ((SELECT number FROM job WHERE id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      {job.id, jobs::JobStateName(job.state), job.action_key, int64_t{jobs::HasReusableEnd(job)},
       int64_t{goes_on && !job.stop_requested}, job.client, jobs::QueueRank(job),
       job.spec.model.graph.digest.Hex(), job.create_ms, waits ? job.start_by_ms : 0, job.use_ms}));
  return jobs::RowBytes(job, record.size());
}

absl::Status PutBlobs(Database& database, absl::string_view job_id, std::span<const BlobId> blobs) {
  for (const BlobId& blob : blobs) {
    QUOTIENT_RETURN_IF_ERROR(
        database.Run("INSERT OR IGNORE INTO job_blob (sha256, job_id) VALUES (?, ?)",
                     {blob.digest.Hex(), job_id}));
  }
  return absl::OkStatus();
}

absl::StatusOr<jobs::Job> ReadJob(const Row& row) {
  const auto unreadable = [](absl::string_view why) {
    return MakeError(Reason::kInternal, absl::StrCat("a job's record cannot be read: ", why));
  };
  v1::Job message;
  if (!message.ParseFromString(row.Text(0))) return unreadable("it is no message");
  absl::StatusOr<jobs::Job> job = jobs::FromProto(message);
  if (!job.ok()) return unreadable(job.status().message());
  // The index has no state of a job that was set aside, or that an older version has left.
  const std::string state = row.Text(3);
  if (job->id != row.Text(2) || (!state.empty() && jobs::JobStateName(job->state) != state)) {
    return unreadable("it is of another job, or in another state");
  }
  if (!HasCounts(*job)) return unreadable("its sequence or its attempt is out of range");
  job->lease_epoch = row.Int(1);
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
  return {row.Text(0), row.Text(1), row.Text(2), row.Int(3), row.Int(4) != 0, row.Int(5) != 0};
}

}  // namespace quotient::store
