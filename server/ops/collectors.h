#pragma once

// Metrics whose values are read when they are scraped: jobs in the store, how long they have
// waited, leases, open streams, uploads in progress, the disk, GPUs, figures of the process.

#include <prometheus/collectable.h>

#include <memory>

#include "server/jobs/blob_store.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/watch_hub.h"
#include "server/ops/gpu_monitor.h"
#include "server/ops/job_counts.h"
#include "server/ops/queue_age.h"

namespace quotient::ops {

// Reads the numbers of jobs and of watchers. Borrows both.
std::shared_ptr<prometheus::Collectable> NewJobCollector(const JobCounts* counts,
                                                         const jobs::WatchHub* hub);

// Reads how long jobs have waited, and how many are leased to workers. Borrows both.
std::shared_ptr<prometheus::Collectable> NewQueueCollector(const QueueAge* age,
                                                           const jobs::Dispatch* dispatch);

// Reads what the disk has free. Borrows the blobs.
std::shared_ptr<prometheus::Collectable> NewDiskCollector(const jobs::BlobInventory* blobs);

// Reads what the uploads in progress take. Borrows the store.
std::shared_ptr<prometheus::Collectable> NewUploadCollector(jobs::UploadStore* uploads);

// Reads what is known of the GPUs. Borrows the monitor.
std::shared_ptr<prometheus::Collectable> NewGpuCollector(const GpuMonitor* monitor);

// Reads the standard process_* metrics, which the Prometheus client library lacks.
std::shared_ptr<prometheus::Collectable> NewProcessCollector();

}  // namespace quotient::ops
