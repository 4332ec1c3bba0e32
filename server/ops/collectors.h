#pragma once

// Metrics whose values are read when they are scraped: jobs in the store, open streams, uploads in
// progress, figures of the process.

#include <prometheus/collectable.h>

#include <memory>

#include "server/jobs/blob_store.h"
#include "server/jobs/watch_hub.h"
#include "server/ops/job_counts.h"

namespace quotient::ops {

// Reads the numbers of jobs and of watchers. Borrows both.
std::shared_ptr<prometheus::Collectable> NewJobCollector(const JobCounts* counts,
                                                         const jobs::WatchHub* hub);

// Reads what the uploads in progress take. Borrows the store.
std::shared_ptr<prometheus::Collectable> NewUploadCollector(jobs::UploadStore* uploads);

// Reads the standard process_* metrics, which the Prometheus client library lacks.
std::shared_ptr<prometheus::Collectable> NewProcessCollector();

}  // namespace quotient::ops
