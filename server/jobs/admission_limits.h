#pragma once

// How much a server takes on.

#include <cstdint>

namespace quotient::jobs {

struct AdmissionLimits {
  int max_queued = 1000;            // Waiting jobs. Further ones are refused with QUEUE_FULL.
  int max_queued_per_client = 500;  // Those of one client; QUOTA_JOBS.
  // Of what is stored for the jobs of one client: the blobs that they need or have made, and their
  // own rows; QUOTA_BYTES. 0: no limit.
  int64_t max_bytes_per_client = 0;
  // Of one job, each of which is a row for a day. Beyond it, requests for one that has ended leave
  // none, and others get a job of their own.
  int max_submissions = 1000;
  int max_external_files = 4096;  // Per model.
  int64_t max_model_bytes = int64_t{64} << 30;
  // Threads of jobs that leave the number to the server; 0 leaves it to the core.
  int default_threads = 0;
};

}  // namespace quotient::jobs
