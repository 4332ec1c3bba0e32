#pragma once

// Reads a job's blobs, calls core/optimize, and stores the results as blobs. core_runner.cc is the
// only file of the server that runs the optimizer.

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/checkpoint_slot.h"
#include "core/base/clock.h"
#include "core/base/progress.h"
#include "core/base/stop.h"
#include "core/optimize/validate.h"
#include "core/report/comparison.h"
#include "core/report/report.h"
#include "core/timing/rule_store.h"
#include "server/jobs/blob_store.h"
#include "server/jobs/job.h"
#include "server/worker/job_runner.h"

namespace quotient::optimize {
class Devices;
}

namespace quotient::runner {

// All pointers are borrowed. Budgets, phases and the deadlines of StopConditions must all go by
// `clock`.
struct CoreTools {
  jobs::BlobStore* blobs;
  jobs::BlobSink* made;  // Takes results.
  optimize::Devices* devices;
  const timing::RuleStore* rule_store;  // Jobs leave what their rules did there. May be null.
  const Clock* clock;
  // Is told the report of a job when the result is stored.
  std::function<void(const report::Report&)> on_report = [](const auto&) {};
};

// Optimizes the job's model. Returns the core's errors, BLOB_MISSING and BLOB_CORRUPT for inputs,
// and STORAGE_DOWN if results cannot be stored. `checkpoint` may be null.
absl::StatusOr<jobs::JobResult> RunJob(const CoreTools& tools, const jobs::Job& job,
                                       const StopCondition& stop, ProgressSink* progress,
                                       CheckpointSlot* checkpoint);

// Describes a model as JSON, without optimizing it. `name` is what the description calls it.
absl::StatusOr<std::string> InspectModel(const CoreTools& tools, const jobs::Manifest& model,
                                         const std::string& name);

// Says what a job with this spec would make of its model.
absl::StatusOr<optimize::Validation> ValidateModel(const CoreTools& tools,
                                                   const jobs::JobSpec& spec);

// Compares the result of a job, which has one, with its model.
absl::StatusOr<report::Comparison> VerifyResult(const CoreTools& tools, const jobs::Job& job,
                                                const StopCondition& stop);

// Replays the journal of the result of a job, which has one.
absl::StatusOr<worker::Replay> ReplayJournal(const CoreTools& tools, const jobs::Job& job,
                                             const StopCondition& stop);

}  // namespace quotient::runner
