#pragma once

// JobRunner runs the jobs that a worker has claimed. Implemented on top of the core, by decorators,
// and by fakes in tests.

#include <string>

#include "absl/functional/function_ref.h"
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

  // Optimizes the job's model and blocks until that is done. Returns CANCELLED soon after the
  // token of `stop` is set. Resumes from the checkpoint in the slot if there is one, and saves new
  // ones there. If `checkpoint` is null, none are used or made.
  virtual absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const StopCondition& stop,
                                              ProgressSink* progress,
                                              CheckpointSlot* checkpoint) = 0;

  // Describes a model as JSON, without optimizing it. `name` is what the description calls it.
  // Returns CANCELLED soon after `is_wanted`, which is called now and then, returns false.
  virtual absl::StatusOr<std::string> Inspect(const jobs::Manifest& model, const std::string& name,
                                              absl::FunctionRef<bool()> is_wanted) = 0;
};

}  // namespace quotient::worker
