#pragma once

// The action key identifies a job's result: a result can be reused for any job with the same key.

#include <string>

#include "absl/strings/string_view.h"
#include "server/jobs/job.h"

namespace quotient::jobs {

// Returns the SHA-256, in hexadecimal, of the engine's version, the model's manifest and the
// options. If the result may have an external file, the external location is hashed too, because
// the result contains it. The model's name is not hashed.
std::string ActionKey(const JobSpec& spec, absl::string_view engine_version);

}  // namespace quotient::jobs
