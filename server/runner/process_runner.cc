#include "server/runner/process_runner.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "core/os/program_folder.h"
#include "core/os/temp_folder.h"
#include "proto/wire/digest.h"
#include "proto/wire/options.h"
#include "proto/wire/status.h"
#include "proto/wire/validation.h"
#include "server/jobs/convert.h"
#include "server/runner/answers.h"
#include "server/runner/job_process.h"

namespace quotient::runner {
namespace {

// The folders of a job's process, which go when it has ended.
struct Workspace {
  std::unique_ptr<os::TempFolder> outbox;
  std::unique_ptr<os::TempFolder> temporary;  // Null if $TMPDIR takes none; not all jobs need it.
};

absl::StatusOr<Workspace> MakeWorkspace(const ProcessSettings& settings) {
  Workspace workspace;
  QUOTIENT_ASSIGN_OR_RETURN(workspace.outbox,
                            os::TempFolder::Create(settings.outbox_place, "job-"));
  auto temporary = os::TempFolder::Create(os::TempPlace(settings.environment), kTempName);
  if (temporary.ok()) workspace.temporary = *std::move(temporary);
  return workspace;
}

// Passes on what the token says: that the job is to finish, or is cancelled, which gives the
// process time to leave a checkpoint.
class Messenger {
 public:
  Messenger(const CancelToken& token, double end_seconds, JobProcess* process)
      : token_(token), end_seconds_(end_seconds), process_(*process) {}

  absl::Status Look() {
    if (token_.finishing() && !has_told_to_finish_) {
      has_told_to_finish_ = true;
      QUOTIENT_RETURN_IF_ERROR(Order(v1::Order::FINISH));
    }
    if (!token_.cancelled()) return absl::OkStatus();
    if (!told_ms_.has_value()) {
      told_ms_ = process_.AwakeMs();
      return Order(v1::Order::CANCEL);
    }
    if (1e-3 * static_cast<double>(process_.AwakeMs() - *told_ms_) <= end_seconds_) {
      return absl::OkStatus();
    }
    return MakeError(Reason::kCancelled,
                     absl::StrFormat("the job's process did not end within %.0f s", end_seconds_));
  }

 private:
  absl::Status Order(v1::Order::Kind kind) {
    v1::Order order;
    order.set_kind(kind);
    return process_.Tell(order.SerializeAsString());
  }

  const CancelToken& token_;
  const double end_seconds_;
  JobProcess& process_;
  bool has_told_to_finish_ = false;
  std::optional<int64_t> told_ms_;  // When it was told that it is cancelled.
};

class ProcessRunner : public worker::JobRunner {
 public:
  ProcessRunner(ProcessSettings settings, const Clock* clock)
      : settings_(std::move(settings)), clock_(*clock) {}

  absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const CancelToken& token,
                                      ProgressSink* progress,
                                      worker::KeptCheckpoint* checkpoint) override {
    QUOTIENT_ASSIGN_OR_RETURN(const Workspace workspace, MakeWorkspace(settings_));
    os::Environment environment = settings_.environment;
    if (workspace.temporary != nullptr) environment["TMPDIR"] = workspace.temporary->path();
    v1::Request request = RequestOf(job, checkpoint);
    request.mutable_setup()->set_outbox_path(workspace.outbox->path());
    QUOTIENT_ASSIGN_OR_RETURN(const auto process,
                              JobProcess::Start(settings_, environment, &clock_, request));
    os::FaultPoint("process.started");
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Ended ended,
                              Await(*process, job, token, progress, checkpoint));
    settings_.on_figures(FiguresOf(ended));
    QUOTIENT_RETURN_IF_ERROR(FailureOf(ended));
    QUOTIENT_ASSIGN_OR_RETURN(jobs::JobResult result, ResultOf(ended));
    QUOTIENT_RETURN_IF_ERROR(Take(job.client, workspace.outbox->path(), result));
    return result;
  }

  absl::StatusOr<std::string> Inspect(const jobs::Manifest& manifest, const std::string& name,
                                      IsWanted is_wanted) override {
    v1::Request request = NewQuestion();
    *request.mutable_inspect()->mutable_model() = jobs::ToProto(manifest);
    request.mutable_inspect()->set_name(wire::Utf8(name));
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Ended ended,
                              Ask(request, settings_.inspect_seconds, is_wanted));
    return ended.summary_json();
  }

  absl::StatusOr<optimize::Validation> Validate(const jobs::JobSpec& spec,
                                                IsWanted is_wanted) override {
    v1::Request request = NewQuestion();
    v1::Validate& validate = *request.mutable_validate();
    *validate.mutable_model() = jobs::ToProto(spec.model);
    validate.set_name(wire::Utf8(spec.model_name));
    *validate.mutable_options() = wire::ToProto(spec.options);
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Ended ended,
                              Ask(request, settings_.inspect_seconds, is_wanted));
    return wire::FromProto(ended.validation());
  }

  absl::StatusOr<worker::Verification> Verify(const jobs::Job& job, IsWanted is_wanted) override {
    v1::Request request = NewQuestion();
    *request.mutable_verify()->mutable_job() = jobs::ToProto(job, std::nullopt);
    request.mutable_verify()->set_most_seconds(settings_.verify_seconds);
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Ended ended,
                              Ask(request, settings_.verify_seconds, is_wanted));
    return worker::Verification{ended.verification().is_same(),
                                ended.verification().comparison_json()};
  }

  absl::StatusOr<worker::Replay> Replay(const jobs::Job& job, IsWanted is_wanted) override {
    v1::Request request = NewQuestion();
    *request.mutable_replay()->mutable_job() = jobs::ToProto(job, std::nullopt);
    request.mutable_replay()->set_most_seconds(settings_.verify_seconds);
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Ended ended,
                              Ask(request, settings_.verify_seconds, is_wanted));
    return ReplayOf(ended);
  }

 private:
  absl::StatusOr<v1::Ended> Await(JobProcess& process, const jobs::Job& job,
                                  const CancelToken& token, ProgressSink* progress,
                                  worker::KeptCheckpoint* checkpoint) {
    // No job has more of its budget than it may take in all.
    const double silent_seconds = settings_.silent_seconds +
                                  std::min(job.spec.options.budget_seconds, settings_.most_seconds);
    Messenger messenger(token, settings_.end_seconds, &process);
    const auto look = [&]() -> absl::Status {
      const double seconds = 1e-3 * static_cast<double>(process.AwakeMs());
      if (seconds <= settings_.most_seconds + silent_seconds) return messenger.Look();
      return Poisoned(absl::StrFormat("did not end within %.0f s", seconds));
    };
    return process.Await(silent_seconds, look, [&](const v1::Event& event) {
      TakeDamage(event);
      if (event.has_progress()) progress->Report(ProgressOf(event.progress()));
      if (event.has_checkpoint() && checkpoint != nullptr) checkpoint->Save(event.checkpoint());
    });
  }

  // The process has ended, and nobody writes to its folder any more.
  absl::Status Take(const std::string& client, const std::string& outbox,
                    const jobs::JobResult& result) {
    const absl::Status taken = settings_.take(client, outbox, result);
    if (GetReason(taken) != Reason::kBlobCorrupt && !absl::IsNotFound(taken)) return taken;
    return Poisoned(absl::StrCat("has not made what it says: ", taken.message()));
  }

  void TakeDamage(const v1::Event& event) {
    if (!event.has_damaged_blob()) return;
    const absl::StatusOr<BlobId> id = wire::FromProto(event.damaged_blob());
    if (id.ok()) settings_.on_damage(*id);
  }

  // Runs a process that answers a question about a model, for so long at most.
  absl::StatusOr<v1::Ended> Ask(const v1::Request& request, double most_seconds,
                                IsWanted is_wanted) {
    absl::StatusOr<v1::Ended> ended = TryToAsk(request, most_seconds, is_wanted);
    if (GetReason(ended.status()) == Reason::kProgramReplaced) {
      settings_.on_replaced(ended.status());
    }
    QUOTIENT_RETURN_IF_ERROR(ended.status());
    QUOTIENT_RETURN_IF_ERROR(FailureOf(*ended));
    QUOTIENT_RETURN_IF_ERROR(CheckSize(*ended));
    return ended;
  }

  absl::StatusOr<v1::Ended> TryToAsk(const v1::Request& request, double most_seconds,
                                     IsWanted is_wanted) {
    QUOTIENT_ASSIGN_OR_RETURN(
        const auto process, JobProcess::Start(settings_, settings_.environment, &clock_, request));
    const auto look = [&]() -> absl::Status {
      if (!is_wanted()) return MakeError(Reason::kCancelled, "nobody waits for the answer");
      if (1e-3 * static_cast<double>(process->AwakeMs()) <= most_seconds) return absl::OkStatus();
      return MakeError(Reason::kRunBudget,
                       absl::StrFormat("there was no answer within %.0f s", most_seconds));
    };
    // It says nothing until it has the answer, so silence is no sign that it hangs.
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return process->Await(kNever, look, [this](const v1::Event& event) { TakeDamage(event); });
  }

  v1::Request NewRequest() const {
    v1::Request request;
    *request.mutable_setup() = settings_.setup;
    return request;
  }

  // A question about a model needs nothing but its files.
  v1::Request NewQuestion() const {
    v1::Request request = NewRequest();
    v1::Setup& setup = *request.mutable_setup();
    setup.clear_timings_path();
    setup.clear_compiled_path();
    setup.clear_lane_path();
    return request;
  }

  v1::Request RequestOf(const jobs::Job& job, worker::KeptCheckpoint* checkpoint) const {
    v1::Request request = NewRequest();
    v1::Run& run = *request.mutable_run();
    *run.mutable_job() = jobs::ToProto(job, std::nullopt);
    run.set_most_seconds(settings_.most_seconds);
    run.set_keeps_checkpoints(checkpoint != nullptr);
    run.set_checkpoint_seconds(settings_.checkpoint_seconds);
    if (checkpoint != nullptr) run.set_checkpoint(checkpoint->Load());
    run.set_device_fingerprint(settings_.fingerprint_of(job.spec.options));
    // The device was opened here, too, to know what it is.
    for (const std::string& folder : os::LibraryFolders()) {
      request.mutable_setup()->add_library_folders(folder);
    }
    return request;
  }

  const ProcessSettings settings_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<worker::JobRunner> NewProcessRunner(ProcessSettings settings, const Clock* clock) {
  return std::make_unique<ProcessRunner>(std::move(settings), clock);
}

absl::Status CheckProgram(ProcessSettings settings, const Clock* clock) {
  // It counts for nothing, and is over before a group could be of use.
  settings.on_end = [](const auto&) {};
  settings.groups = nullptr;
  v1::Request nothing;
  *nothing.mutable_setup() = settings.setup;
  QUOTIENT_ASSIGN_OR_RETURN(const auto process,
                            JobProcess::Start(settings, settings.environment, clock, nothing));
  const auto look = [] { return absl::OkStatus(); };
  return process->Await(settings.inspect_seconds, look, [](const v1::Event&) {}).status();
}

}  // namespace quotient::runner
