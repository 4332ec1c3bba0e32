#pragma once

// Decorators and observers that record metrics, so that the code they measure need not.

#include <memory>

#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job_store.h"
#include "server/jobs/ledger.h"
#include "server/ops/metrics.h"
#include "server/worker/job_runner.h"

namespace quotient::ops {

// Counts submissions, attempts and finished jobs. Borrows the metrics.
std::unique_ptr<jobs::JobObserver> NewJobMeter(Metrics* metrics);

// Measures the phases of each run and counts outcomes. Borrows all three.
std::unique_ptr<worker::JobRunner> NewMeteredRunner(worker::JobRunner* runner, const Clock* clock,
                                                    Metrics* metrics);

// Measures operations and counts failures. Owns the store.
std::unique_ptr<jobs::JobStore> NewMeteredJobStore(std::unique_ptr<jobs::JobStore> store,
                                                   const Clock* clock, Metrics* metrics);

// Counts uploads and their bytes. Owns the store.
std::unique_ptr<jobs::UploadStore> NewMeteredUploadStore(std::unique_ptr<jobs::UploadStore> store,
                                                         Metrics* metrics);

}  // namespace quotient::ops
