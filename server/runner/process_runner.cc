#include "server/runner/process_runner.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/child_process.h"
#include "core/os/fault_point.h"
#include "core/os/message_channel.h"
#include "core/os/program_folder.h"
#include "core/os/temp_folder.h"
#include "proto/wire/digest.h"
#include "proto/wire/options.h"
#include "proto/wire/status.h"
#include "proto/wire/validation.h"
#include "server/jobs/awake_clock.h"
#include "server/jobs/convert.h"
#include "server/runner/answers.h"

namespace quotient::runner {
namespace {

// Between two looks at whether the job was cancelled, and at the memory of the process.
constexpr int64_t kLookNs = 100'000'000;
constexpr int64_t kMemoryLookNs = 500'000'000;
// How long a process may take to send or take the rest of a message.
constexpr int64_t kMessageNs = 60'000'000'000;
// How long it may take to end when it has sent the last one, and when its socket was closed.
constexpr double kLastSeconds = 10;
constexpr double kClosedSeconds = 1;

int64_t Soon() { return Clock::System().NowNs() + kMessageNs; }

std::string TextOf(const os::ChildProcess::Ending& ending) {
  if (ending.exit_status == kExitOutOfMemory) return "had no memory left";
  if (ending.signal == 0) return absl::StrCat("ended with status ", ending.exit_status);
  return absl::StrCat("was ended by signal ", ending.signal, " (", strsignal(ending.signal), ")",
                      ending.signal == SIGKILL ? "; perhaps the machine had no memory left" : "");
}

// The program does not work, such as for want of a library.
absl::Status NotStarted(const std::string& program, absl::string_view what) {
  return MakeError(Reason::kStorageDown, absl::StrCat(program, " ", what, " before it began"));
}

absl::Status Poisoned(absl::string_view what) {
  return MakeError(Reason::kPoisoned, absl::StrCat("the job's process ", what));
}

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

// A process that serves one request. For one thread.
class Process {
 public:
  // Called while there is no news. Returns why the process must not go on.
  using OnLook = absl::FunctionRef<absl::Status()>;
  using OnEvent = absl::FunctionRef<void(const v1::Event&)>;

  static absl::StatusOr<std::unique_ptr<Process>> Start(const ProcessSettings& settings,
                                                        const os::Environment& environment,
                                                        const Clock* clock, v1::Request request) {
    QUOTIENT_ASSIGN_OR_RETURN(os::SocketPair sockets, os::MakeSocketPair());
    QUOTIENT_ASSIGN_OR_RETURN(
        auto child, os::ChildProcess::Start(settings.program, {}, environment, sockets.theirs,
                                            os::ChildProcess::Group::kOwn));
    sockets.theirs.Close();
    std::unique_ptr<Process> process(
        new Process(settings, clock, std::move(child), std::move(sockets.ours)));
    // Of the memory of its group a job has all.
    if (process->EnterGroup()) request.mutable_setup()->set_jobs_at_once(1);
    QUOTIENT_RETURN_IF_ERROR(process->Tell(request.SerializeAsString()));
    return process;
  }

  // Lets the process end in order, or kills it.
  ~Process() {
    channel_.Close();
    child_->End(kClosedSeconds);
    settings_.on_end({.fate = fate_, .memory_bytes = memory_bytes_});
  }

  // POISONED if the process does not take the message.
  absl::Status Tell(absl::string_view message) {
    const absl::Status sent = channel_.Send(message, Soon());
    if (sent.ok()) return sent;
    return absl::IsUnavailable(sent) ? Died() : Poisoned("does not take what it is told");
  }

  // Blocks until the request is served. It may be silent for so long.
  absl::StatusOr<v1::Ended> Await(double silent_seconds, OnLook on_look, OnEvent on_event) {
    int64_t heard_ms = awake_.NowMs();
    for (;;) {
      QUOTIENT_ASSIGN_OR_RETURN(const std::optional<v1::Event> event, Next());
      if (event.has_value()) {
        has_begun_ = true;
        if (event->has_ended()) return Finished(event->ended());
        on_event(*event);
        heard_ms = awake_.NowMs();
      } else if (1e-3 * static_cast<double>(awake_.NowMs() - heard_ms) > silent_seconds) {
        return Poisoned(absl::StrFormat("made no progress for %.0f s", silent_seconds));
      }
      QUOTIENT_RETURN_IF_ERROR(on_look());
      QUOTIENT_RETURN_IF_ERROR(CheckMemory());
    }
  }

  // Milliseconds of the time that the server was not stopped.
  int64_t AwakeMs() { return awake_.NowMs(); }

 private:
  Process(const ProcessSettings& settings, const Clock* clock,
          std::unique_ptr<os::ChildProcess> child, os::Fd socket)
      : settings_(settings),
        awake_(clock),
        child_(std::move(child)),
        channel_(std::move(socket), kMostMessageBytes) {}

  // Whether the process is in a control group of its own now. It has nothing to do yet.
  bool EnterGroup() {
    if (settings_.groups == nullptr) return false;
    auto group = settings_.groups->NewGroup();
    const absl::Status entered = group.ok() ? (*group)->Add(child_->pid()) : group.status();
    if (!entered.ok()) {
      Log().warn("a job without a control group: {}", std::string(entered.message()));
      return false;
    }
    group_ = *std::move(group);
    return true;
  }

  absl::Status Died() {
    fate_ = ProcessFate::kDied;
    std::string what = TextOf(child_->End(kLastSeconds));
    if (group_ != nullptr && group_->HasRunOutOfMemory()) {
      what = "took more memory than its control group has";
    }
    return has_begun_ ? Poisoned(what) : NotStarted(settings_.program, what);
  }

  // Returns nothing if nothing has come for a while.
  absl::StatusOr<std::optional<v1::Event>> Next() {
    if (absl::IsDeadlineExceeded(channel_.AwaitInput(Clock::System().NowNs() + kLookNs))) {
      return std::nullopt;
    }
    std::string message;
    v1::Event event;
    const absl::Status received = channel_.Receive(&message, Soon());
    if (absl::IsUnavailable(received)) return Died();
    if (absl::IsDeadlineExceeded(received)) return Poisoned("stopped in the middle of a message");
    if (!received.ok() || !event.ParseFromString(message)) return Poisoned("sent what is no event");
    return event;
  }

  // Lets the process end before the next one starts, which it would disturb.
  v1::Ended Finished(const v1::Ended& ended) {
    LookAtMemory();
    fate_ = ended.status().code() == 0 ? ProcessFate::kOk : ProcessFate::kError;
    child_->End(kLastSeconds);
    return ended;
  }

  absl::Status CheckMemory() {
    const int64_t now_ns = Clock::System().NowNs();
    if (now_ns - memory_look_ns_ < kMemoryLookNs) return absl::OkStatus();
    memory_look_ns_ = now_ns;
    if (LookAtMemory() <= settings_.most_bytes) return absl::OkStatus();
    child_->Kill();
    return Poisoned(absl::StrCat("took more than ", settings_.most_bytes >> 20, " MiB of memory"));
  }

  // Returns what the process takes now.
  int64_t LookAtMemory() {
    const int64_t bytes = child_->AnonymousBytes();
    memory_bytes_ = std::max(memory_bytes_, bytes);
    return bytes;
  }

  const ProcessSettings& settings_;
  jobs::AwakeClock awake_;
  std::unique_ptr<JobGroup> group_;  // Null if it has none.
  const std::unique_ptr<os::ChildProcess> child_;
  os::MessageChannel channel_;
  bool has_begun_ = false;                   // Whether it has sent anything.
  ProcessFate fate_ = ProcessFate::kKilled;  // Unless it ends by itself.
  int64_t memory_look_ns_ = 0;
  int64_t memory_bytes_ = 0;  // The most that was seen.
};

// Passes on what the token says: that the job is to finish, or is cancelled, which gives the
// process time to leave a checkpoint.
class Messenger {
 public:
  Messenger(const CancelToken& token, double end_seconds, Process* process)
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
  Process& process_;
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
                              Process::Start(settings_, environment, &clock_, request));
    os::FaultPoint("process.started");
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Ended ended,
                              Await(*process, job, token, progress, checkpoint));
    settings_.on_figures(FiguresOf(ended));
    QUOTIENT_RETURN_IF_ERROR(FailureOf(ended));
    QUOTIENT_ASSIGN_OR_RETURN(jobs::JobResult result, ResultOf(ended));
    QUOTIENT_RETURN_IF_ERROR(Take(workspace.outbox->path(), result));
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
  absl::StatusOr<v1::Ended> Await(Process& process, const jobs::Job& job, const CancelToken& token,
                                  ProgressSink* progress, worker::KeptCheckpoint* checkpoint) {
    const double silent_seconds = settings_.silent_seconds + job.spec.options.budget_seconds;
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
  absl::Status Take(const std::string& outbox, const jobs::JobResult& result) {
    const absl::Status taken = settings_.take(outbox, result);
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
    QUOTIENT_ASSIGN_OR_RETURN(const auto process,
                              Process::Start(settings_, settings_.environment, &clock_, request));
    const auto look = [&]() -> absl::Status {
      if (!is_wanted()) return MakeError(Reason::kCancelled, "nobody waits for the answer");
      if (1e-3 * static_cast<double>(process->AwakeMs()) <= most_seconds) return absl::OkStatus();
      return MakeError(Reason::kRunBudget,
                       absl::StrFormat("there was no answer within %.0f s", most_seconds));
    };
    QUOTIENT_ASSIGN_OR_RETURN(
        v1::Ended ended, process->Await(settings_.silent_seconds, look,
                                        [this](const v1::Event& event) { TakeDamage(event); }));
    QUOTIENT_RETURN_IF_ERROR(FailureOf(ended));
    QUOTIENT_RETURN_IF_ERROR(CheckSize(ended));
    return ended;
  }

  v1::Request NewRequest() const {
    v1::Request request;
    *request.mutable_setup() = settings_.setup;
    request.mutable_setup()->set_protocol(kProtocol);
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

}  // namespace quotient::runner
