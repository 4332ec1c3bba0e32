#pragma once

// Metrics that are looked up when somebody asks: jobs in the store, open streams, the process.

#include <prometheus/collectable.h>

#include <memory>

#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"

namespace quotient::ops {

// Borrows both.
std::shared_ptr<prometheus::Collectable> NewJobCollector(jobs::JobStore* store,
                                                         jobs::WatchHub* hub);

// The standard process_* metrics, which the client library lacks.
std::shared_ptr<prometheus::Collectable> NewProcessCollector();

}  // namespace quotient::ops
