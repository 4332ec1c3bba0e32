#include "server/runner/job_process.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

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

// The program's file is missing, or does not work, such as for want of a library: no job can run
// until somebody mends the installation, and the server has to be started anew for that.
absl::Status Unusable(const std::string& program, absl::string_view what) {
  return MakeError(Reason::kProgramReplaced, absl::StrCat(program, " ", what));
}

// Whether a process ended before it began for want of memory, and not because of its program.
bool IsShortage(const os::ChildProcess::Ending& ending) {
  return ending.signal == SIGKILL || ending.exit_status == kExitOutOfMemory;
}

}  // namespace

absl::Status Poisoned(absl::string_view what) {
  return MakeError(Reason::kPoisoned, absl::StrCat("the job's process ", what));
}

absl::StatusOr<std::unique_ptr<JobProcess>> JobProcess::Start(const ProcessSettings& settings,
                                                              const os::Environment& environment,
                                                              const Clock* clock,
                                                              v1::Request request) {
  QUOTIENT_ASSIGN_OR_RETURN(os::SocketPair sockets, os::MakeSocketPair());
  auto child = os::ChildProcess::Start(settings.program, {}, environment, sockets.theirs,
                                       os::ChildProcess::Group::kOwn);
  if (!child.ok() && access(settings.program.c_str(), X_OK) != 0) {
    return Unusable(settings.program, absl::StrCat("cannot be run: ", strerror(errno)));
  }
  QUOTIENT_RETURN_IF_ERROR(child.status());
  sockets.theirs.Close();
  std::unique_ptr<JobProcess> process(
      new JobProcess(settings, clock, *std::move(child), std::move(sockets.ours)));
  // Of the memory of its group a job has all.
  if (process->EnterGroup()) request.mutable_setup()->set_jobs_at_once(1);
  QUOTIENT_RETURN_IF_ERROR(process->Tell(request.SerializeAsString()));
  return process;
}

JobProcess::~JobProcess() {
  channel_.Close();
  child_->End(kClosedSeconds);
  settings_.on_end({.fate = fate_, .memory_bytes = memory_bytes_});
}

absl::Status JobProcess::Tell(absl::string_view message) {
  const absl::Status sent = channel_.Send(message, Soon());
  if (sent.ok()) return sent;
  return absl::IsUnavailable(sent) ? Died() : Poisoned("does not take what it is told");
}

absl::StatusOr<v1::Ended> JobProcess::Await(double silent_seconds, OnLook on_look,
                                            OnEvent on_event) {
  int64_t heard_ms = awake_.NowMs();
  for (;;) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<v1::Event> event, Next());
    if (event.has_value()) {
      if (!has_begun_) QUOTIENT_RETURN_IF_ERROR(CheckBegun(*event));
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

bool JobProcess::EnterGroup() {
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

absl::Status JobProcess::CheckBegun(const v1::Event& first) {
  const v1::Begun& begun = first.begun();
  has_begun_ = begun.protocol() == kProtocol && begun.engine_version() == settings_.engine_version;
  if (has_begun_) return absl::OkStatus();
  return MakeError(Reason::kProgramReplaced,
                   absl::StrCat(settings_.program, " is of another build (",
                                Escaped(begun.engine_version()), ") than quotientd (",
                                settings_.engine_version, "), which has to be started anew"));
}

absl::Status JobProcess::Died() {
  fate_ = ProcessFate::kDied;
  const os::ChildProcess::Ending ending = child_->End(kLastSeconds);
  std::string what = TextOf(ending);
  if (group_ != nullptr && group_->HasRunOutOfMemory()) {
    what = "took more memory than its control group has";
  }
  if (has_begun_) return Poisoned(what);
  absl::StrAppend(&what, " before it began");
  if (!IsShortage(ending)) return Unusable(settings_.program, what);
  return MakeError(Reason::kStorageDown, absl::StrCat(settings_.program, " ", what));
}

absl::StatusOr<std::optional<v1::Event>> JobProcess::Next() {
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

v1::Ended JobProcess::Finished(const v1::Ended& ended) {
  LookAtMemory();
  fate_ = ended.status().code() == 0 ? ProcessFate::kOk : ProcessFate::kError;
  child_->End(kLastSeconds);
  return ended;
}

absl::Status JobProcess::CheckMemory() {
  const int64_t now_ns = Clock::System().NowNs();
  if (now_ns - memory_look_ns_ < kMemoryLookNs) return absl::OkStatus();
  memory_look_ns_ = now_ns;
  if (LookAtMemory() <= settings_.most_bytes) return absl::OkStatus();
  child_->Kill();
  return Poisoned(absl::StrCat("took more than ", settings_.most_bytes >> 20, " MiB of memory"));
}

int64_t JobProcess::LookAtMemory() {
  const int64_t bytes = child_->AnonymousBytes();
  memory_bytes_ = std::max(memory_bytes_, bytes);
  return bytes;
}

}  // namespace quotient::runner
