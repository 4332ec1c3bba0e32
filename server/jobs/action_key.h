#pragma once

// The identity of a job's result: same key, same result, whoever asks and however often.

#include <string>

#include "absl/strings/string_view.h"
#include "server/jobs/job.h"

namespace quotient::jobs {

// SHA-256, in hexadecimal, of the model's manifest, the options and the engine's version; and of
// the external location where the result may have an external file, because the model names it.
// Not in the key: the model's name.
std::string ActionKey(const JobSpec& spec, absl::string_view engine_version);

}  // namespace quotient::jobs
