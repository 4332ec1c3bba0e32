#pragma once

// Metrics whose values are read when they are scraped: jobs in the store, open streams, figures of
// the process.

#include <prometheus/collectable.h>

#include <memory>

#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"

namespace quotient::ops {

// Reads the numbers of jobs and of watchers. Borrows both.
std::shared_ptr<prometheus::Collectable> NewJobCollector(jobs::JobStore* store,
                                                         jobs::WatchHub* hub);

// Reads the standard process_* metrics, which the Prometheus client library lacks.
std::shared_ptr<prometheus::Collectable> NewProcessCollector();

}  // namespace quotient::ops
