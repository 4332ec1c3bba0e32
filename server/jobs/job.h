#pragma once

// The value types of the job queue. They depend neither on gRPC nor on a database.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "core/optimize/options.h"
#include "core/report/report.h"

namespace quotient::jobs {

// The blobs that make up a model: the ONNX file, and its external files by the location strings
// that the model uses.
struct Manifest {
  BlobId graph;
  std::map<std::string, BlobId> external_files;

  // One line per blob in a fixed order, so that equal manifests have equal texts.
  std::string CanonicalText() const;
  // Sum of the sizes of all blobs. Saturates instead of overflowing.
  int64_t TotalBytes() const;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// The part of a job that the client sets, and that determines its result.
struct JobSpec {
  std::string model_name;  // For people to read.
  Manifest model;
  optimize::Options options;
  std::string external_location = "model.onnx.data";

  // All blobs that the job reads: those of the model, and the device's snapshot if the options name
  // one.
  std::vector<BlobId> Blobs() const;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// How a job is treated, which does not determine its result.
struct JobPolicy {
  // Priorities go from the negative of this number up to it.
  static constexpr int kMostPriority = 10;
  static constexpr int64_t kMostMs = int64_t{366} * 24 * 3600 * 1000;
  // What a level of priority is worth: so much waiting beside other jobs of the same client.
  static constexpr int64_t kMsPerLevel = 600'000;

  int priority = 0;  // Among the jobs of one client.
  // The job fails if no worker has begun it after this time; 0: it may wait for ever.
  int64_t queue_ms = 0;
  // What an attempt may take, which makes it finish early; 0: what the server allows.
  int64_t run_ms = 0;

  friend bool operator==(const JobPolicy&, const JobPolicy&) = default;
};

// The policy of a job that several submissions share: of each field what asks for most.
JobPolicy MostOf(const JobPolicy& a, const JobPolicy& b);

enum class JobState { kQueued, kRunning, kCancelling, kSucceeded, kFailed, kCancelled };

absl::string_view JobStateName(JobState state);  // "QUEUED", ...
std::optional<JobState> JobStateFromName(absl::string_view name);
bool IsTerminal(JobState state);

struct JobResult {
  report::Outcome outcome = report::Outcome::kNoImprovement;
  BlobId model;
  std::optional<BlobId> external_data;
  std::string external_location;
  BlobId report_json;
  BlobId report_html;
  std::optional<BlobId> journal;
  std::string engine_version;
  // The device that the job ran on (optimize::DeviceIdentity::fingerprint).
  std::string device_fingerprint;
  bool device_failed = false;  // optimize::Result::device_failed
  bool stopped_early = false;  // optimize::Result::finished_early
  bool is_lost = false;        // A file of it is damaged or gone.

  std::vector<BlobId> Blobs() const;

  friend bool operator==(const JobResult&, const JobResult&) = default;
};

struct Job {
  std::string id;
  JobSpec spec;
  JobPolicy policy;
  std::string trace_id;  // Of whoever submitted it first, for logs; 32 hexadecimal digits or empty.
  std::string client;    // The machine in whose turn it runs: one that submitted it.
  // What the device of the options is. Set when the job is accepted, and corrected when it has run:
  // a server that was started anew in between may have another library or another processor.
  std::string device_fingerprint;
  std::string action_key;
  JobState state = JobState::kQueued;
  int attempt = 0;  // Number of claims, not counting those whose end was not the job's fault.
  // Whether no other job may run beside it, because a process died while it ran, and it is not
  // known whether that was its fault or that of a job beside it.
  bool runs_alone = false;
  // Raised by every claim. A worker may write only while this equals the epoch of its lease.
  int64_t lease_epoch = 0;
  bool stop_requested = false;      // The job is to finish with what it has.
  int64_t sequence = 0;             // Number of the latest transition.
  int64_t create_ms = 0;            // Unix time, like the next four.
  int64_t start_by_ms = 0;          // It fails unless it begins by then; 0 if it may wait.
  int64_t start_ms = 0;             // Start of the latest attempt; 0 if there was none.
  int64_t end_ms = 0;               // 0 if the job has not ended.
  int64_t use_ms = 0;               // Its end, or the last time that its result was found.
  std::optional<JobResult> result;  // Set if the job succeeded.
  absl::Status error;               // Set if the job failed.

  friend bool operator==(const Job&, const Job&) = default;
};

// Whether how the job ended holds for all jobs of its content: it has a result that another attempt
// would not better, or was refused for what the model and the options are.
bool HasReusableEnd(const Job& job);

// All blobs that the job needs or has made.
std::vector<BlobId> BlobsOf(const Job& job);

// Of the waiting jobs of one client, the one with the least rank is next: the oldest one, where
// each level of priority counts as some age. So jobs of low priority do not wait for ever.
int64_t QueueRank(const Job& job);

// A worker's right to run a job, which the worker renews periodically.
struct Lease {
  std::string job_id;
  std::string owner;  // The name of the worker's thread.
  int64_t epoch = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

// One change of a job's state, or a note that leaves the state ("stop_requested").
struct Transition {
  std::string job_id;
  int64_t sequence = 0;  // 1, 2, 3, ... within the job.
  int64_t time_ms = 0;
  JobState from = JobState::kQueued;
  JobState to = JobState::kQueued;
  std::string actor;   // "client", "worker", "queue", "recovery"
  std::string reason;  // "submitted", "lease_lost", ... or the reason name of an error.

  friend bool operator==(const Transition&, const Transition&) = default;
};

// A client's request for a job. Several submissions can share one job.
struct Submission {
  std::string request_id;
  std::string payload;  // Digest of the request's content.
  std::string job_id;
  int64_t create_ms = 0;
  bool withdrawn = false;
  bool takes_early = false;  // Who asked would take what the job has found so far.
};

}  // namespace quotient::jobs
