#include "server/job_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/blob_id.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/model_folder.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/optimize/optimize.h"
#include "core/os/files.h"
#include "core/os/memory.h"
#include "core/os/program_folder.h"
#include "core/os/temp_folder.h"
#include "core/timing/rule_store.h"
#include "server/ops/metered.h"
#include "server/runner/process_runner.h"
#include "server/runner/protocol.h"

namespace quotient {
namespace {

constexpr char kProgram[] = "quotient-job";
// The share of the machine's memory that jobs may take. They plan with less (os::kShareToUse).
constexpr double kShareOfJobs = 0.9;

runner::v1::Setup SetupOf(const config::ServerFlags& flags, const Stores& stores) {
  runner::v1::Setup setup;
  setup.set_blobs_path(stores.directory->blobs_path());
  setup.set_timings_path(stores.directory->timings_path());
  setup.set_compiled_path(stores.directory->compiled_path());
  if (flags.workers > 1) setup.set_lane_path(stores.directory->lane_path());
  setup.set_max_blob_bytes(flags.max_blob_bytes);
  setup.set_min_free_bytes(flags.min_free_bytes);
  setup.set_jobs_at_once(static_cast<int32_t>(flags.workers));
  setup.set_takes_precedence(!flags.no_precedence);
  setup.set_has_sandbox(!flags.no_sandbox);
  setup.set_log_level(flags.log_level);
  setup.set_log_format(flags.log_format);
  return setup;
}

// Until the job is known to have made them, the files count as such that the client has sent.
absl::Status TakeBlobs(const std::string& client, const std::string& outbox,
                       const jobs::JobResult& result, store::DiskBlobStore* blobs,
                       jobs::SentBlobs* sent) {
  const std::vector<BlobId> ids = result.Blobs();
  return sent->Store(ids, client, [&]() -> absl::Status {
    for (const BlobId& id : ids) QUOTIENT_RETURN_IF_ERROR(blobs->Take(outbox, id));
    return absl::OkStatus();
  });
}

// Adds the statistics of rules that a job has left. Whatever it left, results do not depend on it.
void TakeRules(const std::string& left, const timing::RuleStore& rules) {
  const absl::StatusOr<timing::RuleTable> table = timing::RuleStore(left).Read();
  absl::Status status = table.status();
  if (table.ok()) {
    for (const auto& [fingerprint, of_job] : *table) {
      status.Update(rules.Add(fingerprint, of_job));
    }
  }
  if (!status.ok()) Log().warn("statistics of rules: {}", std::string(status.message()));
}

// What all jobs share is there before they begin, because they may write it and make nothing beside
// it.
absl::Status MakeShared(const runner::v1::Setup& setup) {
  std::vector<std::string> files = {setup.timings_path()};
  if (!setup.lane_path().empty()) {
    files.push_back(setup.lane_path());
    files.push_back(setup.lane_path() + ".next");
  }
  for (const std::string& file : files) {
    QUOTIENT_RETURN_IF_ERROR(os::OpenFile(file, O_RDWR | O_CREAT).status());
  }
  return os::MakeDirectories(setup.compiled_path());
}

// What folders of jobs and of their helpers processes that were killed have left.
void RemoveAbandonedFolders() {
  const std::string place = os::TempPlace(os::ReadEnvironment(environ));
  for (const char* const name : {runner::kTempName, kernels::onnxruntime::kFolderName}) {
    os::TempFolder::RemoveAbandoned(place, name);
  }
}

}  // namespace

os::Environment EnvironmentOfDevices(const config::ServerFlags& flags) {
  os::Environment environment = os::ReadEnvironment(environ);
  if (!flags.onnxruntime.empty()) {
    environment[kernels::onnxruntime::kLibraryVariable] = flags.onnxruntime;
  }
  return environment;
}

std::unique_ptr<runner::JobGroups> NewJobGroups(const config::ServerFlags& flags) {
  if (flags.no_sandbox) return nullptr;
  auto groups =
      runner::JobGroups::Create(runner::OwnGroupFolder(), {.memory_bytes = os::MemoryBytes()});
  if (groups.ok()) return *std::move(groups);
  Log().info("{}", std::string(groups.status().message()));
  return nullptr;
}

absl::StatusOr<std::unique_ptr<worker::JobRunner>> NewJobProcesses(
    const config::ServerFlags& flags, const Stores& stores, runner::JobGroups* groups,
    optimize::Devices* devices, ops::Metrics* metrics, OnReplaced on_replaced) {
  runner::ProcessSettings settings{
      .program = os::FindBesideProgram(kProgram, {""}),
      .environment = EnvironmentOfDevices(flags),
      .setup = SetupOf(flags, stores),
      .engine_version = std::string(optimize::EngineVersion()),
      .most_seconds = static_cast<double>(flags.max_job_seconds),
      .checkpoint_seconds = static_cast<double>(flags.checkpoint_seconds),
      .silent_seconds = flags.max_silent_seconds > 0 ? static_cast<double>(flags.max_silent_seconds)
                                                     : std::numeric_limits<double>::infinity(),
      .most_bytes = static_cast<int64_t>(kShareOfJobs * static_cast<double>(os::MemoryBytes())),
      .fingerprint_of =
          [devices](const optimize::Options& options) {
            const auto device = devices->Identify(options.device, options.ThreadsToUse());
            return device.ok() ? device->fingerprint : std::string();
          },
      .groups = groups,
      .outbox_place = stores.blobs->incoming(),
      .take = [blobs = stores.blobs.get(), sent = stores.sent.get(),
               rules = timing::RuleStore(stores.directory->rules_path())](
                  const std::string& client, const std::string& outbox,
                  const jobs::JobResult& result) -> absl::Status {
        QUOTIENT_RETURN_IF_ERROR(TakeBlobs(client, outbox, result, blobs, sent));
        TakeRules(runner::RulesIn(outbox), rules);
        return absl::OkStatus();
      },
      // The store sets it aside and counts it.
      .on_damage = [blobs =
                        stores.blobs.get()](const BlobId& id) { blobs->Verify(id).IgnoreError(); },
      .on_figures = [metrics](const auto& figures) { ops::CountFigures(figures, metrics); },
      .on_end = [metrics](const runner::ProcessEnd& end) { ops::CountProcess(end, metrics); },
      .on_replaced = std::move(on_replaced)};
  QUOTIENT_RETURN_IF_ERROR(MakeShared(settings.setup));
  RemoveAbandonedFolders();
  if (settings.program.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this installation has no ", kProgram, " in ", os::ProgramFolder()));
  }
  QUOTIENT_RETURN_IF_ERROR(runner::CheckProgram(settings, &Clock::System()));
  return runner::NewProcessRunner(std::move(settings), &Clock::System());
}

}  // namespace quotient
