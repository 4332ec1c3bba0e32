#pragma once

// The side of the queue that clients use: submit, look up, cancel, stop and delete.

#include <atomic>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "core/optimize/device_identity.h"
#include "core/optimize/options.h"
#include "server/jobs/admission_limits.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job.h"
#include "server/jobs/ledger.h"
#include "server/jobs/sent_blobs.h"

namespace quotient::jobs {

struct SubmitRequest {
  std::string request_id;  // If empty, a repetition counts as another request.
  JobSpec spec;
  JobPolicy policy;
  std::string trace_id;  // 32 hexadecimal digits, or empty.
  std::string client;    // The machine that sent it.
  bool skip_cache_lookup = false;
};

struct Admitted {
  Job job;
  Disposition disposition = Disposition::kNew;
};

// Thread-safe.
class Admission {
 public:
  // How long request ids are remembered, so that retries are recognized: a day.
  static constexpr int64_t kRequestIdMs = int64_t{24} * 3600 * 1000;

  struct Dependencies {
    Ledger* ledger;
    BlobStore* blobs;
    const Clock* clock;
    std::string engine_version;
    std::function<std::string()> new_id;  // Makes unique, unguessable ids; thread-safe.
    // Says what the device of a job is on this server; thread-safe. DEVICE_NOT_PRESENT if it has
    // none of that name. May take as long as opening the device.
    std::function<absl::StatusOr<optimize::DeviceIdentity>(const optimize::Options&)> identify;
    // Is told why a submission was refused; thread-safe.
    std::function<void(const absl::Status&)> on_refusal = [](const absl::Status&) {};
    // STORAGE_DOWN if the disk is too full for one more job, whose record may have megabytes.
    // Called with the ledger locked, so it must be quick.
    std::function<absl::Status()> check_room = [] { return absl::OkStatus(); };
    // The blobs that no job has. Null if they count for nobody.
    SentBlobs* sent = nullptr;
  };

  Admission(const AdmissionLimits& limits, Dependencies dependencies)
      : limits_(limits), dependencies_(std::move(dependencies)) {}

  // Returns a new job, or an earlier one with the same request id or the same action key. The job
  // is durable when this returns. A device that stands for others is replaced by the one that it is
  // here. Errors: OPTION_INVALID, LIMIT_BYTES, LIMIT_NODES, BLOB_MISSING, DEVICE_NOT_PRESENT and
  // what else opening a device fails with, REQUEST_ID_REUSED, QUOTA_JOBS, QUOTA_BYTES, QUEUE_FULL,
  // DRAINING, STORAGE_DOWN. A request for which there is a job already meets no quota. If that has
  // not ended and too many requests share it, the request gets a job of its own.
  absl::StatusOr<Admitted> Submit(const SubmitRequest& request);

  // Returns the job whose end Submit would return as that of an equal job. The blobs of the model
  // are not needed. Errors: RESULT_NOT_FOUND, and those of Submit that hold without any work.
  absl::StatusOr<Job> Lookup(const JobSpec& spec);

  // Returns the job that Submit would queue for this spec, which is in no store, or why it would
  // not. Errors: those of Submit that hold without any work.
  absl::StatusOr<Job> Validate(const JobSpec& spec) const;

  // Cancels a job. With a request id, withdraws only that submission, and cancels the job if no
  // other submission is left. Idempotent. Error: JOB_NOT_FOUND.
  absl::StatusOr<Job> Cancel(absl::string_view job_id, absl::string_view request_id);

  // Tells a job to finish with what it has. With a request id, only notes that this submission
  // would take that, and tells the job when no other submission wants more. Idempotent. Error:
  // JOB_NOT_FOUND.
  absl::StatusOr<Job> Stop(absl::string_view job_id, absl::string_view request_id);

  // Returns a job. If it has a result, that counts as a use of it. Error: JOB_NOT_FOUND.
  absl::StatusOr<Job> Get(absl::string_view job_id);

  // Removes a job that has ended, and the blobs that only it had, those that were used just now
  // later. Errors: JOB_NOT_FINISHED, and JOB_NOT_FOUND unless the job may be missing.
  absl::Status Delete(absl::string_view job_id, bool allow_missing);

  // Refuses jobs from now on, because the server is about to stop.
  void Drain() { draining_.store(true, std::memory_order_relaxed); }

  // Forgets request ids that are older than a day, unless their jobs have not ended.
  absl::Status ForgetOldRequests();

 private:
  absl::StatusOr<Admitted> TrySubmit(const SubmitRequest& request);
  // BLOB_MISSING if one is not there.
  absl::Status CheckBlobs(const JobSpec& spec) const;
  // The same, and sees to it that the blobs stay until the job is in the store. Only for a job that
  // nothing else stands against: else requests that are refused would keep blobs.
  absl::Status TakeBlobs(const JobSpec& spec) const;
  // The blobs of a job that is in the store do not count as sent any more.
  void ForgetSent(const JobSpec& spec) const;
  // Returns the job of the request, with what the server decides, which is not in the store yet.
  // Errors are those of identifying the device.
  absl::StatusOr<Job> NewJob(const SubmitRequest& request) const;
  // Decides between the job of an earlier request, a job of the same content and a new job. The
  // earlier one is found even if there is no `job`, because the device is not there any more.
  absl::StatusOr<Admitted> Admit(Ledger::Edit& edit, const SubmitRequest& request,
                                 const absl::StatusOr<Job>& job) const;
  // Sees to it that the result which is found by this key is all there: those that are not are
  // marked, so that they are not found any more. Reads their blobs, unless they were verified
  // before.
  absl::Status DropIncomplete(const std::string& action_key) const;
  // Whether no more requests are to share the job. Each is a row for a day, which no quota bounds.
  absl::StatusOr<bool> AreMany(JobTransaction& store, absl::string_view job_id) const;
  // The job of the same content that the request gets; null if it needs one of its own, which
  // quotas bound. So nobody can keep others from a job by asking for it often.
  absl::StatusOr<std::optional<Job>> FindShared(JobTransaction& store, const SubmitRequest& request,
                                                absl::string_view action_key) const;
  // Makes a job that was there before one of this request, too.
  absl::StatusOr<Job> Share(Ledger::Edit& edit, Job job, const SubmitRequest& request) const;
  // Gives a waiting job to `other`, who has submitted it, too, if fewer jobs of that client wait in
  // front of it. It then has the other one's turn and counts for its quotas, unless it would go
  // beyond that of bytes.
  absl::Status ChooseClient(JobTransaction& store, const std::string& other, Job* job) const;
  // JOB_NOT_FOUND if the job has no submission of this id.
  static absl::StatusOr<Submission> FindSubmissionOf(JobTransaction& store,
                                                     absl::string_view job_id,
                                                     absl::string_view request_id);
  // Does nothing if the job has ended, is being cancelled, or was told before.
  static absl::Status TellToFinish(Ledger::Edit& edit, Job* job);
  // Tells it so if all of its submissions would take an early result.
  static absl::Status StopIfNobodyWantsAll(Ledger::Edit& edit, Job* job);
  // Notes a use by somebody who only reads, which a disk that takes nothing does not prevent.
  void NoteRead(const Job& job) const;
  // Notes that the result of a job that has ended was used.
  static absl::StatusOr<Job> NoteUse(JobTransaction& store, Job job);
  // The job of an earlier submission with this id; null if there is none. REQUEST_ID_REUSED if that
  // had another content.
  absl::StatusOr<std::optional<Job>> FindEarlier(JobTransaction& store,
                                                 const std::string& request_id,
                                                 const std::string& payload) const;
  absl::StatusOr<bool> HasBlobs(const JobResult& result) const;
  // Adds the job, as a new one with a new id.
  absl::StatusOr<Job> AddJob(Ledger::Edit& edit, Job job) const;

  const AdmissionLimits limits_;
  const Dependencies dependencies_;
  // Set once and never cleared. Relaxed order is enough, since it guards no other data.
  std::atomic<bool> draining_{false};
};

}  // namespace quotient::jobs
