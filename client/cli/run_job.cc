#include "client/cli/run_job.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/local.h"
#include "client/cli/lock_file.h"
#include "client/cli/progress_view.h"
#include "client/cli/remote.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/optimize.h"

namespace quotient::cli {
namespace {

// Withdraws the submission. Uses an interrupt of its own, since the user's was triggered already.
absl::Status Withdraw(const Settings& settings, const Submitted& submitted) {
  client::Interrupt interrupt;
  Settings quick = settings;
  quick.patience_seconds = 2;
  QUOTIENT_ASSIGN_OR_RETURN(const Remote remote, Connect(quick, &interrupt));
  return remote.jobs->Cancel(submitted.job.name(), submitted.request_id).status();
}

absl::StatusOr<v1::Job> WaitForJob(const Settings& settings, const Submitted& submitted,
                                   Remote& remote, ProgressView* view) {
  absl::StatusOr<v1::Job> job = WatchJob(submitted.job.name(), remote, view);
  if (remote.connection->interrupt().triggered() && !job.ok()) {
    const absl::Status withdrawn = Withdraw(settings, submitted);
    view->Note(withdrawn.ok() ? absl::StrCat(submitted.job.name(), " cancelled")
                              : absl::StrCat(submitted.job.name(),
                                             " could not be cancelled: ", withdrawn.message()));
  }
  return job;
}

// LOCK_DIFFERS if the lock file wants another engine than the one that would run the job.
absl::Status CheckEngine(const Settings& settings, absl::string_view engine) {
  if (settings.locked_engine.empty()) return absl::OkStatus();
  return CheckPins({{Lock::kEngine, settings.locked_engine}},
                   {{Lock::kEngine, std::string(engine)}}, settings.lock);
}

absl::Status OptimizeRemotely(const client::LocalModel& model, const Settings& settings,
                              client::Interrupt* interrupt, UseResult use) {
  ProgressView view(stderr, isatty(STDERR_FILENO) != 0, &Clock::System());
  QUOTIENT_ASSIGN_OR_RETURN(Remote remote, Connect(settings, interrupt));
  QUOTIENT_RETURN_IF_ERROR(
      CheckEngine(settings, remote.connection->capabilities().engine_version()));
  if (settings.only_cached) {
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, LookupModel(model, settings, remote));
    QUOTIENT_RETURN_IF_ERROR(OutcomeOf(job));
    return use(*NewRemoteResult(&job.result(), remote.blobs.get()));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const Submitted submitted, SubmitModel(model, settings, remote));
  view.Note(absl::StrCat(
      submitted.job.name(),
      submitted.disposition == v1::SubmitJobResponse::CACHE_HIT ? ": result of an equal job" : ""));
  QUOTIENT_ASSIGN_OR_RETURN(const v1::Job job, WaitForJob(settings, submitted, remote, &view));
  QUOTIENT_RETURN_IF_ERROR(OutcomeOf(job));
  return use(*NewRemoteResult(&job.result(), remote.blobs.get()));
}

absl::Status OptimizeHere(const client::LocalModel& model, const Settings& settings,
                          client::Interrupt* interrupt, UseResult use) {
  QUOTIENT_RETURN_IF_ERROR(CheckEngine(settings, optimize::EngineVersion()));
  ProgressView view(stderr, isatty(STDERR_FILENO) != 0, &Clock::System());
  const Heartbeat heartbeat(&view);
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<ResultSource> result,
                            OptimizeLocally(model, settings, interrupt, &view));
  view.Clear();
  return use(*result);
}

}  // namespace

absl::Status RunJob(const client::LocalModel& model, const Settings& settings,
                    client::Interrupt* interrupt, UseResult use) {
  return settings.local ? OptimizeHere(model, settings, interrupt, use)
                        : OptimizeRemotely(model, settings, interrupt, use);
}

}  // namespace quotient::cli
