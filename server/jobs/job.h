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

// The part of a job that the client sets.
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
  std::string engine_version;
  // The device that the job ran on (optimize::DeviceIdentity::fingerprint).
  std::string device_fingerprint;
  bool device_failed = false;  // optimize::Result::device_failed

  friend bool operator==(const JobResult&, const JobResult&) = default;
};

struct Job {
  std::string id;
  JobSpec spec;
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
  int64_t sequence = 0;             // Number of the latest transition.
  int64_t create_ms = 0;            // Unix time, like the next two.
  int64_t start_ms = 0;             // Start of the latest attempt; 0 if there was none.
  int64_t end_ms = 0;               // 0 if the job has not ended.
  std::optional<JobResult> result;  // Set if the job succeeded.
  absl::Status error;               // Set if the job failed.

  friend bool operator==(const Job&, const Job&) = default;
};

// A worker's right to run a job, which the worker renews periodically.
struct Lease {
  std::string job_id;
  std::string owner;  // The name of the worker's thread.
  int64_t epoch = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

// One change of a job's state.
struct Transition {
  std::string job_id;
  int64_t sequence = 0;  // 1, 2, 3, ... within the job.
  int64_t time_ms = 0;
  JobState from = JobState::kQueued;
  JobState to = JobState::kQueued;
  std::string actor;   // "client", "worker", "recovery"
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
};

}  // namespace quotient::jobs
