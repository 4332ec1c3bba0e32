#pragma once

// A runner that does what the test says, in place of the core.

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/jobs/blob_store.h"
#include "server/worker/job_runner.h"

namespace quotient::testing {

// Reports one progress, leaves the checkpoint "begun by 1" (the lease's epoch), waits until
// released, told to finish or stopped, and then "optimizes" by copying the model; if stopped, it
// leaves "stopped by 1". A model that begins with "bad" is refused, the model "lost" has no device,
// "bug" finds a bug; one that begins with "fatal" loses the device, and with "deadly" its process.
// Thread-safe.
class FakeRunner : public worker::JobRunner {
 public:
  // Reads the one and writes to the other; borrows both.
  FakeRunner(jobs::BlobStore* blobs, jobs::BlobSink* made) : blobs_(*blobs), made_(*made) {}

  // Jobs run through from now on, or wait again.
  void Release() {
    absl::MutexLock lock(&mutex_);
    released_ = true;
  }
  // Blocks until so many runs have begun.
  void AwaitRuns(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return runs_ >= count; };
    mutex_.Await(absl::Condition(&enough));
  }
  int runs() const {
    absl::MutexLock lock(&mutex_);
    return runs_;
  }
  // What was in the slots of the runs; "none" for no slot.
  std::vector<std::string> found() const {
    absl::MutexLock lock(&mutex_);
    return found_;
  }

  absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const CancelToken& token,
                                      ProgressSink* progress,
                                      worker::KeptCheckpoint* checkpoint) override {
    QUOTIENT_ASSIGN_OR_RETURN(const auto model, blobs_.Open(job.spec.model.graph));
    progress->Report({.phase = "search", .original_cost_us = 20, .best_share = 0.5});
    const std::string found = checkpoint == nullptr ? "none" : checkpoint->Load();
    if (checkpoint != nullptr) checkpoint->Save(absl::StrCat("begun by ", job.lease_epoch));
    {
      absl::MutexLock lock(&mutex_);
      ++runs_;
      found_.push_back(found);
    }
    const absl::Status waited = Wait(token);
    if (checkpoint != nullptr && !waited.ok()) {
      checkpoint->Save(absl::StrCat("stopped by ", job.lease_epoch));
    }
    QUOTIENT_RETURN_IF_ERROR(waited);
    if (model->bytes().substr(0, 3) == "bad") {
      return MakeError(Reason::kModelMalformed, "node 'x': bad");
    }
    if (model->bytes() == "lost") return MakeError(Reason::kDeviceNotPresent, "no such device");
    if (model->bytes() == "bug") return MakeError(Reason::kInternal, "a bug");
    if (model->bytes().substr(0, 5) == "fatal") {
      return MakeError(Reason::kDeviceLost, "the GPU failed");
    }
    if (model->bytes() == "replaced") {
      return MakeError(Reason::kProgramReplaced, "of another build");
    }
    if (model->bytes().substr(0, 6) == "deadly") {
      return MakeError(Reason::kPoisoned, "the process died");
    }
    jobs::JobResult result{.outcome = report::Outcome::kImproved,
                           .engine_version = "engine 1",
                           .device_fingerprint = job.device_fingerprint,
                           .stopped_early = token.finishing()};
    QUOTIENT_ASSIGN_OR_RETURN(result.model, made_.Put(model->bytes()));
    QUOTIENT_ASSIGN_OR_RETURN(result.report_json, made_.Put("{}\n"));
    QUOTIENT_ASSIGN_OR_RETURN(result.report_html, made_.Put("<html></html>\n"));
    return result;
  }

  absl::StatusOr<std::string> Inspect(const jobs::Manifest& model, const std::string& name,
                                      IsWanted /*is_wanted*/) override {
    QUOTIENT_ASSIGN_OR_RETURN(const auto graph, blobs_.Open(model.graph));
    return absl::StrCat("{\"fake\":\"", name, "\"}\n");
  }

  absl::StatusOr<optimize::Validation> Validate(const jobs::JobSpec& spec,
                                                IsWanted /*is_wanted*/) override {
    QUOTIENT_ASSIGN_OR_RETURN(const auto graph, blobs_.Open(spec.model.graph));
    if (graph->bytes() == "odd") return optimize::Validation{absl::UnimplementedError("odd"), {}};
    return optimize::Validation{absl::OkStatus(), {"a note"}};
  }

  // Is called by Verify. To be set before that.
  std::function<void(const jobs::Job&)> on_verify = [](const jobs::Job&) {};

  absl::StatusOr<worker::Verification> Verify(const jobs::Job& job,
                                              IsWanted /*is_wanted*/) override {
    on_verify(job);
    return worker::Verification{job.spec.model.graph == job.result->model,
                                absl::StrCat(job.spec.options.seed)};
  }

  absl::StatusOr<worker::Replay> Replay(const jobs::Job& job, IsWanted /*is_wanted*/) override {
    return worker::Replay{job.result->model, job.spec.model.graph == job.result->model, 3};
  }

 private:
  // The token has no way of waking anybody, so it is looked at now and then.
  absl::Status Wait(const CancelToken& token) {
    absl::MutexLock lock(&mutex_);
    while (!released_ && !token.finishing()) {
      if (token.cancelled()) return MakeError(Reason::kCancelled, "stopped");
      mutex_.AwaitWithTimeout(absl::Condition(&released_), absl::Milliseconds(5));
    }
    return absl::OkStatus();
  }

  jobs::BlobStore& blobs_;
  jobs::BlobSink& made_;
  mutable absl::Mutex mutex_;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  int runs_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> found_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::testing
