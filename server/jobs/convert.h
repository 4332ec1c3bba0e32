#pragma once

// Converts jobs to and from messages of quotient.v1. The messages are used on the wire and as
// records in the job store, since protobuf lets later versions read older records.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/base/progress.h"
#include "quotient/v1/optimizer.pb.h"
#include "server/jobs/job.h"

namespace quotient::jobs {

v1::ModelManifest ToProto(const Manifest& manifest);
// Errors: BAD_DIGEST; MODEL_MALFORMED if two external files have the same location.
absl::StatusOr<Manifest> FromProto(const v1::ModelManifest& message);

v1::JobResult ToProto(const JobResult& result);
absl::StatusOr<JobResult> FromProto(const v1::JobResult& message);

v1::JobPolicy ToProto(const JobPolicy& policy);
// Error: OPTION_INVALID.
absl::StatusOr<JobPolicy> FromProto(const v1::JobPolicy& message);

v1::JobState ToProto(JobState state);
// Returns nothing for UNSPECIFIED and for unknown numbers.
std::optional<JobState> FromProto(v1::JobState state);

v1::Transition ToProto(const Transition& transition);

// `progress` is the latest of a running job, if there is any.
v1::Job ToProto(const Job& job, const std::optional<Progress>& progress);
// The same without what can be large, for lists: of the model only its graph, of the options only
// the device, and of a long error message the beginning.
v1::Job ToSummary(const Job& job, const std::optional<Progress>& progress);
// Reads all fields but the lease's epoch, which messages do not have.
absl::StatusOr<Job> FromProto(const v1::Job& message);

// What a store needs for a job beside its files: a record of so many bytes, and rows about the job
// and each of its files. The latter is an estimate. Without a number, the job is converted.
int64_t RowBytes(const Job& job, size_t record_bytes);
int64_t RowBytes(const Job& job);

// Converts a job id to a resource name "jobs/<id>", and back. The latter returns JOB_NOT_FOUND for
// any other text.
std::string JobName(absl::string_view id);
absl::StatusOr<std::string> JobIdFromName(absl::string_view name);

}  // namespace quotient::jobs
