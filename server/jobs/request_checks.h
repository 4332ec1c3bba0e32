#pragma once

// What is wrong with a request whatever the server has: texts and sizes that no job may have.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/jobs/admission_limits.h"
#include "server/jobs/job.h"

namespace quotient::jobs {

// OPTION_INVALID, with `what` it is, if a name is too long or holds a NUL byte.
absl::Status CheckName(absl::string_view what, absl::string_view name);

// OPTION_INVALID for names and options, LIMIT_NODES or LIMIT_BYTES for too many or too large files.
absl::Status CheckSpec(const JobSpec& spec, const AdmissionLimits& limits);

}  // namespace quotient::jobs
