#pragma once

// The values the queue is made of. They know neither gRPC nor a database.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "core/optimize/options.h"
#include "core/optimize/report.h"

namespace quotient::jobs {

// A model as a manifest of blobs: the ONNX file, and each external file by the location string the
// model uses.
struct Manifest {
  BlobId graph;
  std::map<std::string, BlobId> external_files;

  // One line per blob, in a fixed order: equal manifests, equal text.
  std::string CanonicalText() const;
  // Of all blobs; saturates.
  int64_t TotalBytes() const;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// What a client asks for, and all a worker needs to know to do it.
struct JobSpec {
  std::string model_name;  // for people
  Manifest model;
  optimize::Options options;
  std::string external_location = "model.onnx.data";

  // All that has to be there before the job can run: the model's, and the snapshot of the device
  // that the options name.
  std::vector<BlobId> Blobs() const;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

enum class JobState { kQueued, kRunning, kCancelling, kSucceeded, kFailed, kCancelled };

absl::string_view JobStateName(JobState state);  // "QUEUED", ...
std::optional<JobState> JobStateFromName(absl::string_view name);
bool IsTerminal(JobState state);

struct JobResult {
  optimize::Outcome outcome = optimize::Outcome::kNoImprovement;
  BlobId model;
  std::optional<BlobId> external_data;
  std::string external_location;
  BlobId report_json;
  BlobId report_html;
  std::string engine_version;

  friend bool operator==(const JobResult&, const JobResult&) = default;
};

struct Job {
  std::string id;
  JobSpec spec;
  std::string action_key;
  JobState state = JobState::kQueued;
  int attempt = 0;  // claims, less those handed back in order
  // The fence: raised by every claim. A worker may write only while the epoch is its own.
  int64_t lease_epoch = 0;
  int64_t sequence = 0;  // of the latest transition
  int64_t create_ms = 0;
  int64_t start_ms = 0;             // of the latest attempt; 0: never
  int64_t end_ms = 0;               // 0: not ended
  std::optional<JobResult> result;  // of a job that succeeded
  absl::Status error;               // of a job that failed

  friend bool operator==(const Job&, const Job&) = default;
};

// The right to run a job until a time; renewed by heartbeats.
struct Lease {
  std::string job_id;
  std::string owner;
  int64_t epoch = 0;
  int64_t until_ms = 0;
};

// One change of a job's state.
struct Transition {
  std::string job_id;
  int64_t sequence = 0;  // 1, 2, 3, ... within the job
  int64_t time_ms = 0;
  JobState from = JobState::kQueued;
  JobState to = JobState::kQueued;
  std::string actor;   // "client", "worker", "recovery"
  std::string reason;  // "submitted", "lease_lost", ... or an error's reason name

  friend bool operator==(const Transition&, const Transition&) = default;
};

// A client's wish for a job. Several can share one job.
struct Submission {
  std::string request_id;
  std::string payload;  // digest of what was asked under this id
  std::string job_id;
  int64_t create_ms = 0;
  bool withdrawn = false;
};

}  // namespace quotient::jobs
