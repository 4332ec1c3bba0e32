#include "server/jobs/admission.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "proto/wire/status.h"
#include "server/jobs/action_key.h"
#include "server/jobs/quotas.h"
#include "server/jobs/request_checks.h"

namespace quotient::jobs {
namespace {

// The use of a result is noted at most once in this time, since each note is a durable write.
constexpr int64_t kUseStepMs = 600'000;

// Returns a digest of the request's content, by which a second request with the same id but other
// content is recognized. The request is taken as it was sent, and what the server adds to the key
// is left out: a request may be retried after the server was updated.
std::string Payload(const SubmitRequest& request) {
  std::string content =
      absl::StrCat(ActionKey(request.spec, ResultContext()), " ", request.skip_cache_lookup, " ",
                   request.spec.external_location, "\n", request.spec.model_name);
  const JobPolicy& policy = request.policy;
  if (policy != JobPolicy()) {
    absl::StrAppend(&content, "\npolicy ", request.spec.model_name.size(), " ", policy.priority,
                    " ", policy.queue_ms, " ", policy.run_ms);
  }
  return Digest::Of(content).Hex();
}

// Whether a request with this policy may have this job, which is of the same content. A job that
// runs may end too early for it.
bool MayShare(const Job& job, const JobPolicy& policy) {
  if (job.state != JobState::kRunning || job.policy.run_ms == 0) return true;
  return policy.run_ms > 0 && policy.run_ms <= job.policy.run_ms;
}

// When a job with this policy, submitted at `now_ms`, has to have begun; 0 if it may wait.
int64_t StartBy(const JobPolicy& policy, int64_t now_ms) {
  return policy.queue_ms == 0 ? 0 : now_ms + policy.queue_ms;
}

absl::Status JobNotFound(absl::string_view id) {
  return MakeError(Reason::kJobNotFound, absl::StrCat("no job '", Escaped(id), "'"));
}

absl::Status BlobsMissing(const JobSpec& spec, const std::vector<BlobId>& missing) {
  std::string problem = absl::StrCat(
      missing.size(), " of the job's blobs are not on the server, the first: ", missing[0].Text());
  const std::optional<BlobId> snapshot = optimize::SnapshotOf(spec.options.device);
  if (snapshot.has_value() && std::ranges::find(missing, *snapshot) != missing.end()) {
    absl::StrAppend(&problem,
                    "; the device's snapshot is missing: --device-snapshot FILE sends it");
  }
  absl::Status status = MakeError(Reason::kBlobMissing, problem);
  for (const BlobId& id : missing) wire::AddMissingBlob(id, &status);
  return status;
}

}  // namespace

absl::StatusOr<Admitted> Admission::Submit(const SubmitRequest& request) {
  absl::StatusOr<Admitted> admitted = TrySubmit(request);
  if (!admitted.ok()) dependencies_.on_refusal(admitted.status());
  return admitted;
}

absl::StatusOr<Admitted> Admission::TrySubmit(const SubmitRequest& request) {
  if (draining_.load(std::memory_order_relaxed)) {
    return MakeError(Reason::kDraining, "the server is shutting down");
  }
  QUOTIENT_RETURN_IF_ERROR(CheckSpec(request.spec, limits_));
  QUOTIENT_RETURN_IF_ERROR(CheckName("request_id", request.request_id));
  QUOTIENT_RETURN_IF_ERROR(CheckBlobs(request.spec));
  const absl::StatusOr<Job> job = NewJob(request);
  // Blobs of results are read before the ledger is locked, since that may take long. With it
  // locked, those of a new job are only looked up, so that a request that is refused keeps none of
  // them.
  if (job.ok() && !request.skip_cache_lookup) {
    QUOTIENT_RETURN_IF_ERROR(DropIncomplete(job->action_key));
  }
  Admitted admitted;
  QUOTIENT_RETURN_IF_ERROR(dependencies_.ledger->Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(admitted, Admit(edit, request, job));
    edit.Submitted(admitted.job, admitted.disposition);
    os::FaultPoint("submit.admitted");
    return absl::OkStatus();
  }));
  os::FaultPoint("submit.committed");
  if (admitted.disposition == Disposition::kNew) ForgetSent(admitted.job.spec);
  return admitted;
}

absl::Status Admission::CheckBlobs(const JobSpec& spec) const {
  std::vector<BlobId> missing;
  for (const BlobId& id : spec.Blobs()) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool present, dependencies_.blobs->Contains(id));
    if (!present) missing.push_back(id);
  }
  return missing.empty() ? absl::OkStatus() : BlobsMissing(spec, missing);
}

absl::Status Admission::TakeBlobs(const JobSpec& spec) const {
  std::vector<BlobId> missing;
  for (const BlobId& id : spec.Blobs()) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool present, dependencies_.blobs->Use(id));
    if (!present) missing.push_back(id);
  }
  return missing.empty() ? absl::OkStatus() : BlobsMissing(spec, missing);
}

void Admission::ForgetSent(const JobSpec& spec) const {
  if (dependencies_.sent == nullptr) return;
  for (const BlobId& id : spec.Blobs()) dependencies_.sent->Forget(id);
}

absl::StatusOr<std::optional<Job>> Admission::FindEarlier(JobTransaction& store,
                                                          const std::string& request_id,
                                                          const std::string& payload) const {
  if (request_id.empty()) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(const auto earlier, store.FindSubmission(request_id));
  if (!earlier.has_value()) return std::nullopt;
  if (earlier->payload != payload) {
    return MakeError(Reason::kRequestIdReused,
                     "this request id was used for another request before");
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, store.Find(earlier->job_id));
  if (!job.has_value()) return JobNotFound(earlier->job_id);
  return job;
}

absl::StatusOr<Job> Admission::NewJob(const SubmitRequest& request) const {
  Job job{.spec = request.spec,
          .policy = request.policy,
          .trace_id = request.trace_id,
          .client = request.client};
  optimize::Options& options = job.spec.options;
  if (options.threads == 0) options.threads = limits_.default_threads;
  QUOTIENT_ASSIGN_OR_RETURN(const optimize::DeviceIdentity device, dependencies_.identify(options));
  options.device = device.name;
  job.device_fingerprint = device.fingerprint;
  job.action_key = ActionKey(job.spec, {dependencies_.engine_version, job.device_fingerprint});
  return job;
}

absl::Status Admission::DropIncomplete(const std::string& action_key) const {
  Ledger& ledger = *dependencies_.ledger;
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Job> same,
                              ledger.store().FindByActionKey(action_key));
    if (!same.has_value() || !same->result.has_value()) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const bool complete, HasBlobs(*same->result));
    if (complete) return absl::OkStatus();
    QUOTIENT_RETURN_IF_ERROR(ledger.Write([&](Ledger::Edit& edit) -> absl::Status {
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> job, edit.store().Find(same->id));
      if (!job.has_value()) return absl::OkStatus();
      job->result->is_lost = true;
      os::FaultPoint("result.lost");
      return edit.store().Put(*job);
    }));
  }
}

absl::StatusOr<Admitted> Admission::Admit(Ledger::Edit& edit, const SubmitRequest& request,
                                          const absl::StatusOr<Job>& job) const {
  JobTransaction& store = edit.store();
  const std::string payload = Payload(request);
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> earlier,
                            FindEarlier(store, request.request_id, payload));
  if (earlier.has_value()) {
    QUOTIENT_ASSIGN_OR_RETURN(Job job, NoteUse(store, *std::move(earlier)));
    return Admitted{std::move(job), Disposition::kJoined};
  }
  QUOTIENT_RETURN_IF_ERROR(job.status());
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> same, FindShared(store, request, job->action_key));
  Admitted admitted;
  if (same.has_value()) {
    admitted.disposition = HasReusableEnd(*same) ? Disposition::kCacheHit : Disposition::kJoined;
    QUOTIENT_ASSIGN_OR_RETURN(admitted.job, Share(edit, *std::move(same), request));
  } else {
    QUOTIENT_ASSIGN_OR_RETURN(admitted.job, AddJob(edit, *job));
  }
  // Nothing can be asked of a submission that has no id when its job has ended. If it were kept,
  // each one who finds a result would add a row for a day.
  QUOTIENT_ASSIGN_OR_RETURN(const bool are_many, AreMany(store, admitted.job.id));
  if (IsTerminal(admitted.job.state) && (request.request_id.empty() || are_many)) return admitted;
  // Another submission without a request id is stored under a new one, so that CountWishes counts
  // it.
  const std::string id = request.request_id.empty() ? dependencies_.new_id() : request.request_id;
  QUOTIENT_RETURN_IF_ERROR(
      store.PutSubmission({id, payload, admitted.job.id, store.now_ms(), /*withdrawn=*/false}));
  return admitted;
}

absl::StatusOr<bool> Admission::AreMany(JobTransaction& store, absl::string_view job_id) const {
  QUOTIENT_ASSIGN_OR_RETURN(const int submissions, store.CountSubmissions(job_id));
  return submissions >= limits_.max_submissions;
}

absl::StatusOr<std::optional<Job>> Admission::FindShared(JobTransaction& store,
                                                         const SubmitRequest& request,
                                                         absl::string_view action_key) const {
  if (request.skip_cache_lookup) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> same, store.FindByActionKey(action_key));
  if (!same.has_value() || !MayShare(*same, request.policy)) return std::nullopt;
  if (IsTerminal(same->state)) return same;
  QUOTIENT_ASSIGN_OR_RETURN(const bool are_many, AreMany(store, same->id));
  return are_many ? std::nullopt : same;
}

absl::StatusOr<Job> Admission::Share(Ledger::Edit& edit, Job job,
                                     const SubmitRequest& request) const {
  if (IsTerminal(job.state)) return NoteUse(edit.store(), std::move(job));
  if (job.state != JobState::kQueued) return job;
  JobTransaction& store = edit.store();
  const int64_t start_by_ms = StartBy(request.policy, store.now_ms());
  const bool may_wait = job.start_by_ms == 0 || start_by_ms == 0;
  job.policy = MostOf(job.policy, request.policy);
  job.start_by_ms = may_wait ? 0 : std::max(job.start_by_ms, start_by_ms);
  QUOTIENT_RETURN_IF_ERROR(ChooseClient(store, request.client, &job));
  QUOTIENT_RETURN_IF_ERROR(store.Put(job));
  return job;
}

absl::Status Admission::ChooseClient(JobTransaction& store, const std::string& other,
                                     Job* job) const {
  QUOTIENT_ASSIGN_OR_RETURN(const int before, store.CountQueuedOf(job->client));
  QUOTIENT_ASSIGN_OR_RETURN(const int after, store.CountQueuedOf(other));
  if (after >= before) return absl::OkStatus();
  const absl::Status has_room = CheckBytes(limits_, store, dependencies_.sent, other, *job);
  if (GetReason(has_room) == Reason::kQuotaBytes) return absl::OkStatus();
  if (has_room.ok()) job->client = other;
  return has_room;
}

absl::StatusOr<Job> Admission::NoteUse(JobTransaction& store, Job job) {
  if (!IsTerminal(job.state) || store.now_ms() - job.use_ms < kUseStepMs) return job;
  job.use_ms = store.now_ms();
  QUOTIENT_RETURN_IF_ERROR(store.Put(job));
  return job;
}

absl::StatusOr<Job> Admission::Get(absl::string_view job_id) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Job> job,
                            dependencies_.ledger->store().Get(job_id));
  if (!job.has_value()) return JobNotFound(job_id);
  NoteRead(*job);
  return *job;
}

void Admission::NoteRead(const Job& job) const {
  const bool is_use = job.result.has_value();
  if (!is_use || dependencies_.clock->UnixMs() - job.use_ms < kUseStepMs) return;
  const absl::Status noted = dependencies_.ledger->Write([&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> found, edit.store().Find(job.id));
    if (!found.has_value()) return absl::OkStatus();
    return NoteUse(edit.store(), *std::move(found)).status();
  });
  if (!noted.ok()) Log().warn("job {}: use not noted: {}", job.id, std::string(noted.message()));
}

absl::StatusOr<bool> Admission::HasBlobs(const JobResult& result) const {
  for (const BlobId& id : result.Blobs()) {
    const absl::Status status = dependencies_.blobs->Open(id).status();
    if (absl::IsNotFound(status) || GetReason(status) == Reason::kBlobCorrupt) return false;
    QUOTIENT_RETURN_IF_ERROR(status);
  }
  return true;
}

absl::StatusOr<Job> Admission::AddJob(Ledger::Edit& edit, Job job) const {
  QUOTIENT_RETURN_IF_ERROR(CheckQueue(limits_, edit.store(), job.client));
  QUOTIENT_RETURN_IF_ERROR(CheckBytes(limits_, edit.store(), dependencies_.sent, job.client, job));
  QUOTIENT_RETURN_IF_ERROR(dependencies_.check_room());
  QUOTIENT_RETURN_IF_ERROR(TakeBlobs(job.spec));
  job.id = dependencies_.new_id();
  job.start_by_ms = StartBy(job.policy, edit.store().now_ms());
  QUOTIENT_RETURN_IF_ERROR(edit.Add(&job, "client"));
  return job;
}

absl::StatusOr<Submission> Admission::FindSubmissionOf(JobTransaction& store,
                                                       absl::string_view job_id,
                                                       absl::string_view request_id) {
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Submission> submission, store.FindSubmission(request_id));
  if (!submission.has_value() || submission->job_id != job_id) return JobNotFound(job_id);
  return *std::move(submission);
}

absl::Status Admission::TellToFinish(Ledger::Edit& edit, Job* job) {
  const bool may_finish = job->state == JobState::kQueued || job->state == JobState::kRunning;
  if (!may_finish || job->stop_requested) return absl::OkStatus();
  job->stop_requested = true;
  os::FaultPoint("stop.found");
  return edit.Note(job, "client", "stop_requested");
}

absl::Status Admission::StopIfNobodyWantsAll(Ledger::Edit& edit, Job* job) {
  QUOTIENT_ASSIGN_OR_RETURN(const int wishes, edit.store().CountFullWishes(job->id));
  return wishes > 0 ? absl::OkStatus() : TellToFinish(edit, job);
}

absl::StatusOr<Job> Admission::Cancel(absl::string_view job_id, absl::string_view request_id) {
  Job job;
  QUOTIENT_RETURN_IF_ERROR(dependencies_.ledger->Write([&](Ledger::Edit& edit) -> absl::Status {
    JobTransaction& store = edit.store();
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> found, store.Find(job_id));
    if (!found.has_value()) return JobNotFound(job_id);
    job = *std::move(found);
    if (!request_id.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(Submission submission, FindSubmissionOf(store, job_id, request_id));
      submission.withdrawn = true;
      QUOTIENT_RETURN_IF_ERROR(store.PutSubmission(submission));
      QUOTIENT_ASSIGN_OR_RETURN(const int wishes, store.CountWishes(job_id));
      if (wishes > 0) return StopIfNobodyWantsAll(edit, &job);
    }
    os::FaultPoint("cancel.found");
    return edit.Move(&job, JobEvent::kCancel, "client", "cancel");
  }));
  os::FaultPoint("cancel.committed");
  return job;
}

absl::StatusOr<Job> Admission::Lookup(const JobSpec& spec) {
  QUOTIENT_RETURN_IF_ERROR(CheckSpec(spec, limits_));
  QUOTIENT_ASSIGN_OR_RETURN(const Job wanted, NewJob({.spec = spec}));
  QUOTIENT_RETURN_IF_ERROR(DropIncomplete(wanted.action_key));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Job> same,
                            dependencies_.ledger->store().FindByActionKey(wanted.action_key));
  if (!same.has_value() || !HasReusableEnd(*same)) {
    return MakeError(Reason::kResultNotFound, "no equal job has a result");
  }
  NoteRead(*same);
  return *same;
}

absl::StatusOr<Job> Admission::Validate(const JobSpec& spec) const {
  QUOTIENT_RETURN_IF_ERROR(CheckSpec(spec, limits_));
  QUOTIENT_RETURN_IF_ERROR(CheckBlobs(spec));
  return NewJob({.spec = spec});
}

absl::StatusOr<Job> Admission::Stop(absl::string_view job_id, absl::string_view request_id) {
  Job job;
  QUOTIENT_RETURN_IF_ERROR(dependencies_.ledger->Write([&](Ledger::Edit& edit) -> absl::Status {
    JobTransaction& store = edit.store();
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Job> found, store.Find(job_id));
    if (!found.has_value()) return JobNotFound(job_id);
    job = *std::move(found);
    if (request_id.empty()) return TellToFinish(edit, &job);
    QUOTIENT_ASSIGN_OR_RETURN(Submission submission, FindSubmissionOf(store, job_id, request_id));
    submission.takes_early = true;
    QUOTIENT_RETURN_IF_ERROR(store.PutSubmission(submission));
    return StopIfNobodyWantsAll(edit, &job);
  }));
  os::FaultPoint("stop.committed");
  return job;
}

absl::Status Admission::Delete(absl::string_view job_id, bool allow_missing) {
  std::optional<Job> job;
  const auto remove = [&](Ledger::Edit& edit) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(job, edit.store().Find(job_id));
    if (!job.has_value()) return allow_missing ? absl::OkStatus() : JobNotFound(job_id);
    os::FaultPoint("delete.found");
    if (IsTerminal(job->state)) return edit.Remove(*job, RemovalCause::kRequest);
    return MakeError(Reason::kJobNotFinished,
                     absl::StrCat("job ", job_id, " is ", JobStateName(job->state),
                                  "; it can be deleted when it has ended"));
  };
  absl::Status removed = dependencies_.ledger->Write(remove);
  // On a full disk the store has made room when the first try has failed, if it could.
  if (GetReason(removed) == Reason::kStorageDown) removed = dependencies_.ledger->Write(remove);
  QUOTIENT_RETURN_IF_ERROR(removed);
  os::FaultPoint("delete.committed");
  const bool has_left = job.has_value() && dependencies_.sent != nullptr;
  if (has_left) dependencies_.sent->Leave(BlobsOf(*job));
  return absl::OkStatus();
}

absl::Status Admission::ForgetOldRequests() {
  return dependencies_.ledger->Write([](Ledger::Edit& edit) {
    return edit.store().ForgetSubmissions(edit.store().now_ms() - kRequestIdMs);
  });
}

}  // namespace quotient::jobs
