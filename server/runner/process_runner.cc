#include "server/runner/process_runner.h"

#include <signal.h>
#include <string.h>

#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/child_process.h"
#include "core/os/message_channel.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "server/jobs/convert.h"

namespace quotient::runner {
namespace {

// Between two looks at whether the job was cancelled.
constexpr int64_t kLookNs = 100'000'000;
// How long a process may take to send the rest of a message, and to end when it has sent the last.
constexpr int64_t kMessageNs = 60'000'000'000;
constexpr double kLastSeconds = 10;

std::string TextOf(const os::ChildProcess::Ending& ending) {
  if (ending.exit_status == kExitOutOfMemory) return "had no memory left";
  if (ending.signal == 0) return absl::StrCat("ended with status ", ending.exit_status);
  const char* const hint = ending.signal == SIGKILL ? "; perhaps the machine had no memory left" : "";
  return absl::StrCat("was ended by signal ", ending.signal, " (", strsignal(ending.signal), ")",
                      hint);
}

absl::Status Poisoned(absl::string_view what) {
  return MakeError(Reason::kPoisoned, absl::StrCat("the job's process ", what));
}

// A process that serves one request. For one thread.
class Process {
 public:
  using OnEvent = absl::FunctionRef<void(const v1::Event&)>;

  static absl::StatusOr<std::unique_ptr<Process>> Start(const ProcessSettings& settings,
                                                        const Clock& clock,
                                                        const v1::Request& request) {
    QUOTIENT_ASSIGN_OR_RETURN(os::SocketPair sockets, os::MakeSocketPair());
    QUOTIENT_ASSIGN_OR_RETURN(
        auto child,
        os::ChildProcess::Start(settings.program, {}, settings.environment, sockets.theirs));
    std::unique_ptr<Process> process(
        new Process(settings, clock, std::move(child), std::move(sockets.ours)));
    sockets.theirs.Close();
    // If this fails, the process is gone, which the first look at it tells.
    process->Tell(request.SerializeAsString());
    return process;
  }

  // Blocks until the request is served. Everything that happens before that is handed on.
  absl::StatusOr<v1::Ended> Await(const StopCondition& stop, OnEvent on_event) {
    heard_ns_ = clock_.NowNs();
    for (;;) {
      QUOTIENT_ASSIGN_OR_RETURN(const std::optional<v1::Event> event, Next());
      if (event.has_value()) {
        heard_ns_ = clock_.NowNs();
        if (event->has_ended()) return Finished(event->ended());
        on_event(*event);
      }
      QUOTIENT_RETURN_IF_ERROR(Watch(stop));
    }
  }

 private:
  Process(const ProcessSettings& settings, const Clock& clock,
          std::unique_ptr<os::ChildProcess> child, os::Fd socket)
      : settings_(settings),
        clock_(clock),
        child_(std::move(child)),
        channel_(std::move(socket), kMostMessageBytes) {}

  void Tell(absl::string_view message) {
    channel_.Send(message, clock_.NowNs() + kMessageNs).IgnoreError();
  }

  // Returns nothing if nothing has come for a while.
  absl::StatusOr<std::optional<v1::Event>> Next() {
    const absl::Status input = channel_.AwaitInput(clock_.NowNs() + kLookNs);
    if (absl::IsDeadlineExceeded(input)) return std::nullopt;
    std::string message;
    v1::Event event;
    if (!input.ok() || !channel_.Receive(&message, clock_.NowNs() + kMessageNs).ok() ||
        !event.ParseFromString(message)) {
      return Poisoned(TextOf(child_->End(kLastSeconds)));
    }
    return event;
  }

  // Lets the process end before the next one starts, which it would disturb.
  v1::Ended Finished(const v1::Ended& ended) {
    child_->End(kLastSeconds);
    return ended;
  }

  // Tells the process to end when it has to. Returns why it must not go on.
  absl::Status Watch(const StopCondition& stop) {
    const int64_t now_ns = clock_.NowNs();
    const StopReason reason = stop.Check();
    if (reason != StopReason::kNone && !told_ns_.has_value()) told_ns_ = now_ns;
    // Time may be up before it is cancelled.
    if (reason == StopReason::kCancelled && !std::exchange(is_cancelled_, true)) {
      told_ns_ = now_ns;
      Tell(v1::Cancel().SerializeAsString());
    }
    if (told_ns_.has_value() && clock_.SecondsSince(*told_ns_) > settings_.end_seconds) {
      const std::string what =
          absl::StrFormat("did not end within %.0f s", settings_.end_seconds);
      if (is_cancelled_) return MakeError(Reason::kCancelled, absl::StrCat("it ", what));
      return MakeError(Reason::kRunBudget, absl::StrCat("the job's time was up, and it ", what));
    }
    if (clock_.SecondsSince(heard_ns_) > settings_.silent_seconds) {
      return Poisoned(absl::StrFormat("made no progress for %.0f s", settings_.silent_seconds));
    }
    return absl::OkStatus();
  }

  const ProcessSettings& settings_;
  const Clock& clock_;
  const std::unique_ptr<os::ChildProcess> child_;  // Is killed with this object.
  os::MessageChannel channel_;
  int64_t heard_ns_ = 0;            // When the last event came.
  std::optional<int64_t> told_ns_;  // When it had to end.
  bool is_cancelled_ = false;       // Whether it was told so.
};

class ProcessRunner : public worker::JobRunner {
 public:
  ProcessRunner(ProcessSettings settings, const Clock* clock)
      : settings_(std::move(settings)), clock_(*clock) {}

  absl::StatusOr<jobs::JobResult> Run(const jobs::Job& job, const StopCondition& stop,
                                      ProgressSink* progress, CheckpointSlot* checkpoint) override {
    v1::Request request = NewRequest();
    v1::Run& run = *request.mutable_run();
    *run.mutable_job() = jobs::ToProto(job, std::nullopt);
    run.set_most_seconds(settings_.most_seconds);
    run.set_keeps_checkpoints(checkpoint != nullptr);
    run.set_checkpoint_seconds(settings_.checkpoint_seconds);
    if (checkpoint != nullptr) run.set_checkpoint(checkpoint->Load());
    QUOTIENT_ASSIGN_OR_RETURN(
        const v1::Ended ended, Serve(request, stop, [&](const v1::Event& event) {
          if (event.has_progress()) progress->Report(wire::FromProto(event.progress()));
          if (event.has_checkpoint() && checkpoint != nullptr) checkpoint->Save(event.checkpoint());
        }));
    return jobs::FromProto(ended.result());
  }

  absl::StatusOr<std::string> Inspect(const jobs::Manifest& manifest,
                                      const std::string& name) override {
    v1::Request request = NewRequest();
    *request.mutable_inspect()->mutable_model() = jobs::ToProto(manifest);
    request.mutable_inspect()->set_name(wire::Utf8(name));
    const StopCondition stop = StopCondition().WithBudget(clock_, settings_.inspect_seconds);
    QUOTIENT_ASSIGN_OR_RETURN(const v1::Ended ended,
                              Serve(request, stop, [](const v1::Event& /*event*/) {}));
    return ended.summary_json();
  }

 private:
  v1::Request NewRequest() const {
    v1::Request request;
    *request.mutable_setup() = settings_.setup;
    return request;
  }

  // Returns how the request has ended, or why it has not been served.
  absl::StatusOr<v1::Ended> Serve(const v1::Request& request, const StopCondition& stop,
                                  Process::OnEvent on_event) const {
    QUOTIENT_ASSIGN_OR_RETURN(const auto process, Process::Start(settings_, clock_, request));
    QUOTIENT_ASSIGN_OR_RETURN(v1::Ended ended,
                              process->Await(stop, [&](const v1::Event& event) {
                                if (event.has_damaged_blob()) settings_.on_damage();
                                on_event(event);
                              }));
    QUOTIENT_RETURN_IF_ERROR(wire::FromProto(ended.status()));
    return ended;
  }

  const ProcessSettings settings_;
  const Clock& clock_;
};

}  // namespace

std::unique_ptr<worker::JobRunner> NewProcessRunner(ProcessSettings settings, const Clock* clock) {
  return std::make_unique<ProcessRunner>(std::move(settings), clock);
}

}  // namespace quotient::runner
