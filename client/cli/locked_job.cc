#include "client/cli/locked_job.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/build_failure.h"
#include "client/cli/local.h"
#include "client/cli/lock_file.h"
#include "client/cli/output.h"
#include "client/cli/result_cache.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/report/report.h"

namespace quotient::cli {
namespace {

absl::StatusOr<std::string> CachePath(const Settings& settings) {
  if (!settings.result_cache.empty()) return settings.result_cache;
  const std::string folder = CacheFolder(settings.environment);
  if (!folder.empty()) return folder + "/results";
  return MakeError(Reason::kOptionInvalid, "--lock: there is no home folder, so --cache is needed");
}

// Weights in a file of their own are found by the name that the result was made with.
absl::Status CheckLocation(const Lock& lock, const Settings& settings) {
  const std::string location = ExternalLocation(settings.output);
  const ResultFiles files = lock.files();
  if (!files.data.has_value() || files.data_location == location) return absl::OkStatus();
  return MakeError(BuildFailure::kLockDiffers,
                   absl::StrCat(Escaped(settings.lock), ": the weights would be called ",
                                Escaped(location), " and not ", Escaped(files.data_location)));
}

// The lock file, if it pins the result of such a job.
absl::StatusOr<Lock> ReadFittingLock(const Pins& inputs, const Settings& settings) {
  QUOTIENT_ASSIGN_OR_RETURN(Lock lock, ReadLock(settings.lock));
  QUOTIENT_RETURN_IF_ERROR(CheckPins(lock.inputs, inputs, settings.lock));
  QUOTIENT_RETURN_IF_ERROR(CheckLocation(lock, settings));
  return lock;
}

absl::Status WriteLock(const Lock& lock, const std::string& path) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<os::AtomicFile> file, CreateFile(path));
  QUOTIENT_RETURN_IF_ERROR(file->Append(lock.Text()));
  return CommitUnlessEqual({{path, file.get()}});
}

// Says why there is a need for a job at all.
absl::Status ExplainedMiss(const absl::Status& status, const std::string& cache,
                           const Settings& settings) {
  const bool is_missing =
      absl::IsUnavailable(status) || GetReason(status) == Reason::kResultNotFound;
  if (!is_missing || settings.update_lock || settings.no_cache) return status;
  return Annotate(status, absl::StrCat("the cache ", Escaped(cache), " has no result for ",
                                       Escaped(settings.lock)));
}

}  // namespace

absl::Status RunLockedJob(const client::LocalModel& model, const Settings& parsed,
                          client::Interrupt* interrupt, UseResult use) {
  Settings settings = parsed;
  QUOTIENT_ASSIGN_OR_RETURN(const std::string cache, CachePath(settings));
  QUOTIENT_ASSIGN_OR_RETURN(const Pins inputs, PinsOfInputs(model, settings.options));
  std::optional<Lock> locked;
  if (!settings.update_lock) {
    QUOTIENT_ASSIGN_OR_RETURN(locked, ReadFittingLock(inputs, settings));
    settings.locked_engine = locked->engine();
    if (!settings.no_cache) {
      const std::unique_ptr<ResultSource> found = FindResult(cache, *locked);
      if (found != nullptr) return use(*found);
    }
  }
  const auto keep_and_use = [&](ResultSource& result) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(StagedResult staged, StagedResult::Of(result, cache));
    QUOTIENT_ASSIGN_OR_RETURN(const report::Report report,
                              report::ReportFromJson(staged.report_json()));
    const Lock made = {inputs, PinsOfResult(report.engine_version, report.outcome, staged.files())};
    if (locked.has_value()) {
      QUOTIENT_RETURN_IF_ERROR(CheckPins(locked->result, made.result, settings.lock));
    }
    QUOTIENT_RETURN_IF_ERROR(staged.Keep(made));
    const std::unique_ptr<ResultSource> kept = FindResult(cache, made);
    if (kept == nullptr) {
      return MakeError(Reason::kStorageDown,
                       absl::StrCat(Escaped(cache), " does not keep results"));
    }
    QUOTIENT_RETURN_IF_ERROR(use(*kept));
    return settings.update_lock ? WriteLock(made, settings.lock) : absl::OkStatus();
  };
  return ExplainedMiss(RunJob(model, settings, interrupt, keep_and_use), cache, settings);
}

}  // namespace quotient::cli
