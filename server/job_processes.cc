#include "server/job_processes.h"

#include <unistd.h>

#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/optimize/optimize.h"
#include "core/os/memory.h"
#include "core/os/program_folder.h"
#include "server/ops/metered.h"
#include "server/runner/process_runner.h"

namespace quotient {
namespace {

constexpr char kProgram[] = "quotient-job";
// The share of the machine's memory that jobs may take. They plan with less (os::kShareToUse).
constexpr double kShareOfJobs = 0.9;

runner::v1::Setup SetupOf(const config::ServerFlags& flags, const Stores& stores) {
  runner::v1::Setup setup;
  setup.set_blobs_path(stores.directory->blobs_path());
  setup.set_timings_path(stores.directory->timings_path());
  setup.set_rules_path(stores.directory->rules_path());
  setup.set_compiled_path(stores.directory->compiled_path());
  if (flags.workers > 1) setup.set_lane_path(stores.directory->lane_path());
  setup.set_max_blob_bytes(flags.max_blob_bytes);
  setup.set_min_free_bytes(flags.min_free_bytes);
  setup.set_jobs_at_once(static_cast<int32_t>(flags.workers));
  setup.set_takes_precedence(!flags.no_precedence);
  setup.set_has_sandbox(!flags.no_sandbox);
  setup.set_log_level(flags.log_level);
  setup.set_log_format(flags.log_format);
  setup.set_engine_version(std::string(optimize::EngineVersion()));
  return setup;
}

}  // namespace

os::Environment EnvironmentOfDevices(const config::ServerFlags& flags) {
  os::Environment environment = os::ReadEnvironment(environ);
  if (!flags.onnxruntime.empty()) {
    environment[kernels::onnxruntime::kLibraryVariable] = flags.onnxruntime;
  }
  return environment;
}

absl::StatusOr<std::unique_ptr<worker::JobRunner>> NewJobProcesses(const config::ServerFlags& flags,
                                                                   const Stores& stores,
                                                                   optimize::Devices* devices,
                                                                   ops::Metrics* metrics) {
  runner::ProcessSettings settings{
      .program = os::FindBesideProgram(kProgram, {""}),
      .environment = EnvironmentOfDevices(flags),
      .setup = SetupOf(flags, stores),
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
      .on_damage = [metrics] { metrics->Add(ops::MetricId::kDamagedBlobs, {}); },
      .on_figures = [metrics](const auto& figures) { ops::CountFigures(figures, metrics); },
      .on_end =
          [blobs = stores.blobs.get(), metrics](const runner::ProcessEnd& end) {
            blobs->RemoveIncoming(end.pid);
            ops::CountProcess(end, metrics);
          }};
  if (settings.program.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this installation has no ", kProgram, " in ", os::ProgramFolder()));
  }
  return runner::NewProcessRunner(std::move(settings), &Clock::System());
}

}  // namespace quotient
