#include "server/jobs/convert.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/time_util.h"
#include "proto/wire/digest.h"
#include "proto/wire/options.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "proto/wire/time.h"

namespace quotient::jobs {
namespace {

using google::protobuf::util::TimeUtil;

constexpr char kNamePrefix[] = "jobs/";
constexpr size_t kMaxSummaryMessage = 1024;
// Measured in a database of thousands of jobs with 1 to 1,000 files each.
constexpr int64_t kRowBytesOfJob = 1024;
constexpr int64_t kRowBytesOfBlob = 320;

struct StateRow {
  JobState state;
  v1::JobState message;
};

constexpr StateRow kStates[] = {
    {JobState::kQueued, v1::JOB_STATE_QUEUED},
    {JobState::kRunning, v1::JOB_STATE_RUNNING},
    {JobState::kCancelling, v1::JOB_STATE_CANCELLING},
    {JobState::kSucceeded, v1::JOB_STATE_SUCCEEDED},
    {JobState::kFailed, v1::JOB_STATE_FAILED},
    {JobState::kCancelled, v1::JOB_STATE_CANCELLED},
};

// Returns the error with the beginning of its message, and without details but its reason.
absl::Status Shortened(const absl::Status& error) {
  const absl::string_view message = error.message().substr(0, kMaxSummaryMessage);
  const std::optional<Reason> reason = GetReason(error);
  return reason.has_value() ? MakeError(*reason, message) : absl::Status(error.code(), message);
}

// Takes the numbers as they are, whether they are allowed or not.
JobPolicy ReadPolicy(const v1::JobPolicy& message) {
  return {.priority = message.priority(),
          .queue_ms = wire::Milliseconds(message.queue_deadline()),
          .run_ms = wire::Milliseconds(message.run_deadline())};
}

absl::Status InvalidPolicy(absl::string_view problem) {
  return MakeError(Reason::kOptionInvalid, absl::StrCat("policy.", problem));
}

int64_t CountBlobs(const Job& job) {
  absl::flat_hash_set<Digest> distinct;
  for (const BlobId& blob : BlobsOf(job)) distinct.insert(blob.digest);
  return static_cast<int64_t>(distinct.size());
}

bool IsDeadline(int64_t ms) { return ms > 0 && ms <= JobPolicy::kMostMs; }

}  // namespace

v1::ModelManifest ToProto(const Manifest& manifest) {
  v1::ModelManifest message;
  *message.mutable_graph() = wire::ToProto(manifest.graph);
  for (const auto& [location, blob] : manifest.external_files) {
    v1::ModelManifest::ExternalFile* file = message.add_external_files();
    file->set_location(location);
    *file->mutable_blob() = wire::ToProto(blob);
  }
  return message;
}

absl::StatusOr<Manifest> FromProto(const v1::ModelManifest& message) {
  Manifest manifest;
  QUOTIENT_ASSIGN_OR_RETURN(manifest.graph, wire::FromProto(message.graph()));
  for (const v1::ModelManifest::ExternalFile& file : message.external_files()) {
    QUOTIENT_ASSIGN_OR_RETURN(const BlobId blob, wire::FromProto(file.blob()));
    if (!manifest.external_files.emplace(file.location(), blob).second) {
      return MakeError(
          Reason::kModelMalformed,
          absl::StrCat("external file '", Escaped(file.location()), "' is named twice"));
    }
  }
  return manifest;
}

v1::JobResult ToProto(const JobResult& result) {
  v1::JobResult message;
  message.set_outcome(result.outcome == report::Outcome::kImproved ? v1::JobResult::IMPROVED
                                                                   : v1::JobResult::NO_IMPROVEMENT);
  *message.mutable_model() = wire::ToProto(result.model);
  if (result.external_data.has_value()) {
    *message.mutable_external_data() = wire::ToProto(*result.external_data);
    message.set_external_location(result.external_location);
  }
  *message.mutable_report_json() = wire::ToProto(result.report_json);
  *message.mutable_report_html() = wire::ToProto(result.report_html);
  if (result.journal.has_value()) *message.mutable_journal() = wire::ToProto(*result.journal);
  message.set_engine_version(result.engine_version);
  message.set_device_fingerprint(result.device_fingerprint);
  message.set_device_failed(result.device_failed);
  message.set_stopped_early(result.stopped_early);
  message.set_is_lost(result.is_lost);
  return message;
}

absl::StatusOr<JobResult> FromProto(const v1::JobResult& message) {
  JobResult result;
  result.outcome = message.outcome() == v1::JobResult::IMPROVED ? report::Outcome::kImproved
                                                                : report::Outcome::kNoImprovement;
  QUOTIENT_ASSIGN_OR_RETURN(result.model, wire::FromProto(message.model()));
  if (message.has_external_data()) {
    QUOTIENT_ASSIGN_OR_RETURN(result.external_data, wire::FromProto(message.external_data()));
    result.external_location = message.external_location();
  }
  QUOTIENT_ASSIGN_OR_RETURN(result.report_json, wire::FromProto(message.report_json()));
  QUOTIENT_ASSIGN_OR_RETURN(result.report_html, wire::FromProto(message.report_html()));
  if (message.has_journal()) {
    QUOTIENT_ASSIGN_OR_RETURN(result.journal, wire::FromProto(message.journal()));
  }
  result.engine_version = message.engine_version();
  result.device_fingerprint = message.device_fingerprint();
  result.device_failed = message.device_failed();
  result.stopped_early = message.stopped_early();
  result.is_lost = message.is_lost();
  return result;
}

v1::JobPolicy ToProto(const JobPolicy& policy) {
  v1::JobPolicy message;
  message.set_priority(policy.priority);
  if (policy.queue_ms > 0) {
    *message.mutable_queue_deadline() = TimeUtil::MillisecondsToDuration(policy.queue_ms);
  }
  if (policy.run_ms > 0) {
    *message.mutable_run_deadline() = TimeUtil::MillisecondsToDuration(policy.run_ms);
  }
  return message;
}

absl::StatusOr<JobPolicy> FromProto(const v1::JobPolicy& message) {
  constexpr int kMost = JobPolicy::kMostPriority;
  const JobPolicy policy = ReadPolicy(message);
  if (policy.priority < -kMost || policy.priority > kMost) {
    return InvalidPolicy(absl::StrCat("priority: ", -kMost, " to ", kMost));
  }
  if (message.has_queue_deadline() && !IsDeadline(policy.queue_ms)) {
    return InvalidPolicy("queue_deadline: up to a year");
  }
  if (message.has_run_deadline() && !IsDeadline(policy.run_ms)) {
    return InvalidPolicy("run_deadline: up to a year");
  }
  return policy;
}

v1::JobState ToProto(JobState state) {
  for (const StateRow& row : kStates) {
    if (row.state == state) return row.message;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

std::optional<JobState> FromProto(v1::JobState state) {
  for (const StateRow& row : kStates) {
    if (row.message == state) return row.state;
  }
  return std::nullopt;
}

v1::Transition ToProto(const Transition& transition) {
  v1::Transition message;
  message.set_sequence(transition.sequence);
  *message.mutable_time() = TimeUtil::MillisecondsToTimestamp(transition.time_ms);
  message.set_from(ToProto(transition.from));
  message.set_to(ToProto(transition.to));
  message.set_actor(transition.actor);
  message.set_reason(transition.reason);
  return message;
}

v1::Job ToSummary(const Job& job, const std::optional<Progress>& progress) {
  v1::Job message;
  message.set_name(JobName(job.id));
  message.set_state(ToProto(job.state));
  message.set_model_name(job.spec.model_name);
  *message.mutable_model()->mutable_graph() = wire::ToProto(job.spec.model.graph);
  message.mutable_options()->set_device(job.spec.options.device);
  message.set_external_location(job.spec.external_location);
  message.set_device_fingerprint(job.device_fingerprint);
  message.set_action_key(job.action_key);
  message.set_attempt(job.attempt);
  message.set_runs_alone(job.runs_alone);
  *message.mutable_create_time() = TimeUtil::MillisecondsToTimestamp(job.create_ms);
  if (job.start_ms > 0) {
    *message.mutable_start_time() = TimeUtil::MillisecondsToTimestamp(job.start_ms);
  }
  if (job.end_ms > 0) *message.mutable_end_time() = TimeUtil::MillisecondsToTimestamp(job.end_ms);
  message.set_trace_id(job.trace_id);
  message.set_client(job.client);
  *message.mutable_policy() = ToProto(job.policy);
  if (job.start_by_ms > 0) {
    *message.mutable_start_by() = TimeUtil::MillisecondsToTimestamp(job.start_by_ms);
  }
  message.set_stop_requested(job.stop_requested);
  if (job.use_ms > 0) *message.mutable_use_time() = TimeUtil::MillisecondsToTimestamp(job.use_ms);
  message.set_sequence(job.sequence);
  if (progress.has_value()) *message.mutable_progress() = wire::ToProto(*progress);
  if (job.result.has_value()) *message.mutable_result() = ToProto(*job.result);
  if (!job.error.ok()) *message.mutable_error() = wire::ToProto(Shortened(job.error));
  return message;
}

v1::Job ToProto(const Job& job, const std::optional<Progress>& progress) {
  v1::Job message = ToSummary(job, progress);
  *message.mutable_model() = ToProto(job.spec.model);
  *message.mutable_options() = wire::ToProto(job.spec.options);
  if (!job.error.ok()) *message.mutable_error() = wire::ToProto(job.error);
  return message;
}

absl::StatusOr<Job> FromProto(const v1::Job& message) {
  Job job;
  QUOTIENT_ASSIGN_OR_RETURN(job.id, JobIdFromName(message.name()));
  const std::optional<JobState> state = FromProto(message.state());
  if (!state.has_value()) return MakeError(Reason::kInternal, "a job without a state");
  job.state = *state;
  job.spec.model_name = message.model_name();
  QUOTIENT_ASSIGN_OR_RETURN(job.spec.model, FromProto(message.model()));
  job.spec.options = wire::FromProto(message.options());
  job.spec.external_location = message.external_location();
  job.device_fingerprint = message.device_fingerprint();
  job.action_key = message.action_key();
  job.attempt = message.attempt();
  job.runs_alone = message.runs_alone();
  job.sequence = message.sequence();
  job.create_ms = wire::UnixMilliseconds(message.create_time());
  job.start_ms = wire::UnixMilliseconds(message.start_time());
  job.end_ms = wire::UnixMilliseconds(message.end_time());
  // Version 0.2 wrote none.
  job.use_ms = message.has_use_time() ? wire::UnixMilliseconds(message.use_time()) : job.end_ms;
  job.trace_id = message.trace_id();
  job.client = message.client();
  // The policy was checked when the job was accepted. If the record is damaged, it still has to be
  // one that can be written again.
  job.policy = ReadPolicy(message.policy());
  job.policy.queue_ms = std::max<int64_t>(job.policy.queue_ms, 0);
  job.policy.run_ms = std::max<int64_t>(job.policy.run_ms, 0);
  job.start_by_ms = wire::UnixMilliseconds(message.start_by());
  job.stop_requested = message.stop_requested();
  if (message.has_result()) {
    QUOTIENT_ASSIGN_OR_RETURN(job.result, FromProto(message.result()));
  }
  job.error = wire::FromProto(message.error());
  return job;
}

int64_t RowBytes(const Job& job, size_t record_bytes) {
  return static_cast<int64_t>(record_bytes) + kRowBytesOfJob + kRowBytesOfBlob * CountBlobs(job);
}

int64_t RowBytes(const Job& job) {
  return RowBytes(job, ToProto(job, /*progress=*/std::nullopt).ByteSizeLong());
}

std::string JobName(absl::string_view id) { return absl::StrCat(kNamePrefix, id); }

absl::StatusOr<std::string> JobIdFromName(absl::string_view name) {
  absl::string_view id = name;
  if (!absl::ConsumePrefix(&id, kNamePrefix) || id.empty()) {
    return MakeError(Reason::kJobNotFound,
                     absl::StrCat("'", Escaped(name), "' is not the name of a job (jobs/<id>)"));
  }
  return std::string(id);
}

}  // namespace quotient::jobs
