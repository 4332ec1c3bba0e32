#pragma once

// Decorators and observers that record metrics, so that the code they measure need not.

#include <memory>

#include "absl/status/status.h"
#include "core/base/clock.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/checkpoint_store.h"
#include "server/jobs/job_store.h"
#include "server/jobs/ledger.h"
#include "server/ops/metrics.h"
#include "server/runner/process_end.h"
#include "server/runner/runner.pb.h"
#include "server/worker/job_runner.h"

namespace quotient::ops {

// Counts submissions, attempts, and jobs that have ended or were removed. Borrows the metrics.
std::unique_ptr<jobs::JobObserver> NewJobMeter(Metrics* metrics);

// Counts a submission that was refused for this reason.
void CountRefusal(const absl::Status& why, Metrics* metrics);

// Measures the phases of each run, and counts outcomes and failures of devices. Borrows all three.
std::unique_ptr<worker::JobRunner> NewMeteredRunner(worker::JobRunner* runner, const Clock* clock,
                                                    Metrics* metrics);

// Counts a process of a job that has ended.
void CountProcess(const runner::ProcessEnd& end, Metrics* metrics);

// Counts what a process of a job has searched, gained and measured.
void CountFigures(const runner::v1::Figures& figures, Metrics* metrics);

// Measures operations and counts failures. Owns the store.
std::unique_ptr<jobs::JobStore> NewMeteredJobStore(std::unique_ptr<jobs::JobStore> store,
                                                   const Clock* clock, Metrics* metrics);

// Counts checkpoints and their bytes, and measures how long they take. Owns the store.
std::unique_ptr<jobs::CheckpointStore> NewMeteredCheckpointStore(
    std::unique_ptr<jobs::CheckpointStore> store, const Clock* clock, Metrics* metrics);

// Counts uploads and their bytes. Owns the store.
std::unique_ptr<jobs::UploadStore> NewMeteredUploadStore(std::unique_ptr<jobs::UploadStore> store,
                                                         Metrics* metrics);

}  // namespace quotient::ops
