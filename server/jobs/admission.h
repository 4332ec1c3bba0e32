#pragma once

// The clients' side of the queue: submit and cancel.

#include <atomic>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job.h"
#include "server/jobs/ledger.h"

namespace quotient::jobs {

struct AdmissionLimits {
  int max_queued = 1000;          // jobs waiting; more are turned away with QUEUE_FULL
  int max_external_files = 4096;  // of one model
  int64_t max_model_bytes = int64_t{64} << 30;
};

struct SubmitRequest {
  std::string request_id;  // empty: the request cannot be repeated safely
  JobSpec spec;
  bool skip_cache_lookup = false;
};

struct Admitted {
  Job job;
  Disposition disposition = Disposition::kNew;
};

// Thread-safe.
class Admission {
 public:
  // A day, for exact retries.
  static constexpr int64_t kRequestIdMs = int64_t{24} * 3600 * 1000;

  struct Dependencies {
    Ledger* ledger;
    BlobStore* blobs;
    std::string engine_version;
    std::function<std::string()> new_id;  // unique, unguessable; thread-safe
  };

  Admission(const AdmissionLimits& limits, Dependencies dependencies)
      : limits_(limits), dependencies_(std::move(dependencies)) {}

  // The job is durable when this returns. Errors: OPTION_INVALID, LIMIT_BYTES, LIMIT_NODES,
  // BLOB_MISSING, REQUEST_ID_REUSED, QUEUE_FULL, DRAINING, STORAGE_DOWN.
  absl::StatusOr<Admitted> Submit(const SubmitRequest& request);

  // Idempotent. With a request id: withdraws that submission, and ends the job if no other wants
  // it. JOB_NOT_FOUND.
  absl::StatusOr<Job> Cancel(absl::string_view job_id, absl::string_view request_id);

  // Takes no more jobs: the server is about to stop.
  void Drain() { draining_.store(true, std::memory_order_relaxed); }

  // Forgets request ids that are older than a day.
  absl::Status ForgetOldRequests();

 private:
  absl::Status CheckSpec(const JobSpec& spec) const;
  absl::Status CheckBlobs(const JobSpec& spec) const;
  // Decides between the job of an earlier request, a job of the same content and a new job.
  absl::StatusOr<Admitted> Admit(Ledger::Edit& edit, const SubmitRequest& request) const;
  absl::StatusOr<bool> HasReusableResult(const Job& job) const;
  absl::StatusOr<Job> AddJob(Ledger::Edit& edit, const JobSpec& spec, std::string key) const;

  const AdmissionLimits limits_;
  const Dependencies dependencies_;
  // A flag that only ever rises; it orders nothing.
  std::atomic<bool> draining_{false};
};

}  // namespace quotient::jobs
