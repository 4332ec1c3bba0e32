#pragma once

// The action key identifies a job's result: a result can be reused for any job with the same key.

#include <string>

#include "server/jobs/job.h"

namespace quotient::jobs {

// What the results of a job depend on besides the job itself.
struct ResultContext {
  std::string engine_version;
  // What the device of the options is (optimize::DeviceIdentity::fingerprint).
  std::string device_fingerprint;
};

// Returns the SHA-256, in hexadecimal, of the model's manifest, the options and the context. If the
// result may have an external file, the external location is hashed too, because the result
// contains it. The model's name is not hashed.
std::string ActionKey(const JobSpec& spec, const ResultContext& context);

}  // namespace quotient::jobs
