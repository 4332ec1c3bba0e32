#pragma once

// What one client may have: jobs that wait, and bytes on the server. README.md, "What a client may
// store", explains what counts.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/jobs/admission_limits.h"
#include "server/jobs/job.h"
#include "server/jobs/job_store.h"

namespace quotient::jobs {

class SentBlobs;

// Returns QUEUE_FULL if too many jobs wait for one more, and QUOTA_JOBS if those of the client are
// too many.
absl::Status CheckQueue(const AdmissionLimits& limits, JobTransaction& store,
                        absl::string_view client);

// Returns QUOTA_BYTES if the client would have too much with this job of its own. `sent` knows what
// it is sending; null if that does not count.
absl::Status CheckBytes(const AdmissionLimits& limits, JobTransaction& store, const SentBlobs* sent,
                        absl::string_view client, const Job& job);

// What a client has on the server, what it is sending, and what would come to that.
struct ClientBytes {
  int64_t stored = 0;
  int64_t in_transit = 0;
  int64_t added = 0;
};

// Returns QUOTA_BYTES if that is more than `limit`. `what` would be added, such as "this job".
absl::Status CheckBytes(const ClientBytes& bytes, int64_t limit, absl::string_view what);

}  // namespace quotient::jobs
