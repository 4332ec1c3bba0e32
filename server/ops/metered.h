#pragma once

// Decorators and observers that count; the parts they watch know nothing of metrics.

#include <memory>

#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job_store.h"
#include "server/jobs/ledger.h"
#include "server/ops/metrics.h"
#include "server/worker/job_runner.h"

namespace quotient::ops {

// Counts submissions, attempts and ends of jobs. Borrows the metrics.
std::unique_ptr<jobs::JobObserver> NewJobMeter(Metrics* metrics);

// Times the phases of each run and counts outcomes. All borrowed.
std::unique_ptr<worker::JobRunner> NewMeteredRunner(worker::JobRunner* runner, const Clock* clock,
                                                    Metrics* metrics);

// Times operations and counts failures. Owns the store.
std::unique_ptr<jobs::JobStore> NewMeteredJobStore(std::unique_ptr<jobs::JobStore> store,
                                                   const Clock* clock, Metrics* metrics);

// Counts uploads and their bytes. Owns the store.
std::unique_ptr<jobs::UploadStore> NewMeteredUploadStore(std::unique_ptr<jobs::UploadStore> store,
                                                         Metrics* metrics);

}  // namespace quotient::ops
