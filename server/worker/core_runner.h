#pragma once

// Runs jobs with the real core: blobs in, core/optimize, blobs out. The only file of the server
// that calls the core's functions.

#include <memory>

#include "server/jobs/blob_store.h"
#include "server/worker/job_runner.h"

namespace quotient::optimize {
class Devices;
}

namespace quotient::worker {

// Borrows both. Errors of Run: those of the core; BLOB_MISSING and
// BLOB_CORRUPT for inputs, STORAGE_DOWN for results that cannot be kept.
std::unique_ptr<JobRunner> NewCoreRunner(jobs::BlobStore* blobs, optimize::Devices* devices);

}  // namespace quotient::worker
