#pragma once

// What a worker does with a job; implemented by the core, by decorators, and by fakes in tests.

#include <string>

#include "absl/status/statusor.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/progress.h"
#include "core/base/stop.h"
#include "server/jobs/job.h"

namespace quotient::worker {

// Thread-safe.
class JobRunner {
 public:
  virtual ~JobRunner() = default;

  // Optimizes the job's model; blocks. CANCELLED soon after `stop` says so. Goes on from what is in
  // the slot, and leaves there what it can go on from; a null slot is none.
  virtual absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const StopCondition& stop,
                                              ProgressSink* progress,
                                              CheckpointSlot* checkpoint) = 0;

  // What is in a model, as JSON, without optimizing it.
  virtual absl::StatusOr<std::string> Inspect(const jobs::Manifest& model) = 0;
};

}  // namespace quotient::worker
