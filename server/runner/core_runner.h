#pragma once

// The JobRunner of the server: reads a job's blobs, calls core/optimize, and stores the results as
// blobs. core_runner.cc is the only file of the server that runs the optimizer.

#include <memory>

#include "core/base/clock.h"
#include "core/timing/rule_store.h"
#include "server/jobs/blob_store.h"
#include "server/worker/job_runner.h"

namespace quotient::optimize {
class Devices;
}

namespace quotient::runner {

// Borrows all four. Budgets, phases and the deadlines of StopConditions must all go by `clock`.
// Run returns the core's errors, BLOB_MISSING and BLOB_CORRUPT for inputs, and
// STORAGE_DOWN if results cannot be stored.
// Jobs leave what their rules did in `rule_store`, which may be null.
std::unique_ptr<worker::JobRunner> NewCoreRunner(jobs::BlobStore* blobs, optimize::Devices* devices,
                                                 const timing::RuleStore* rule_store,
                                                 const Clock* clock);

}  // namespace quotient::runner
