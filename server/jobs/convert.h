#pragma once

// Jobs as messages of quotient.v1: for the wire, and for the records of a store, which thereby
// stay readable as the messages grow.

#include <optional>

#include "absl/status/statusor.h"
#include "core/base/progress.h"
#include "quotient/v1/optimizer.pb.h"
#include "server/jobs/job.h"

namespace quotient::jobs {

v1::ModelManifest ToProto(const Manifest& manifest);
// BAD_DIGEST; MODEL_MALFORMED if a location is named twice.
absl::StatusOr<Manifest> FromProto(const v1::ModelManifest& message);

v1::JobResult ToProto(const JobResult& result);
absl::StatusOr<JobResult> FromProto(const v1::JobResult& message);

v1::JobState ToProto(JobState state);
// Nothing for UNSPECIFIED and unknown numbers.
std::optional<JobState> FromProto(v1::JobState state);

v1::Progress ToProto(const Progress& progress);
v1::Transition ToProto(const Transition& transition);

// `progress`: of a running job, if it has reported.
v1::Job ToProto(const Job& job, const std::optional<Progress>& progress);
// All but the lease's epoch, which is no client's business.
absl::StatusOr<Job> FromProto(const v1::Job& message);

// "jobs/<id>" and back; JOB_NOT_FOUND for text of another form.
std::string JobName(absl::string_view id);
absl::StatusOr<std::string> JobIdFromName(absl::string_view name);

}  // namespace quotient::jobs
