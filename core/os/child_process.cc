#include "core/os/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"

namespace quotient::os {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

ChildProcess::Ending Decode(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_status = WEXITSTATUS(status)};
}

// Waits until a process has ended, but not longer than that.
void AwaitEnd(pid_t pid, double seconds) {
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return;
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  poll(&ended, 1, static_cast<int>(seconds * 1e3));
}

// A process that was killed may still be in a system call, such as one that writes a file. What the
// leader had started are children of the system's first process now, or of this one if it is the
// first of a container: then nobody else collects them. Those that have ended and that nobody waits
// for are of the group for ever, so this has a limit.
void AwaitEndOfGroup(pid_t leader) {
  constexpr int kLooks = 1000;
  for (int i = 0; i < kLooks && kill(-leader, 0) == 0; ++i) {
    if (waitpid(-leader, nullptr, WNOHANG) <= 0) absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::string& program, const std::vector<std::string>& arguments,
    const Environment& environment, const Fd& socket, Group group) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket.get(), kChildSocket);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, kChildSocket + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (group == Group::kOwn) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  errno = posix_spawn(&pid, program.c_str(), &actions, &attributes, Pointers(words).data(),
                      Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) return ErrnoError("start", program);
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, group));
}

ChildProcess::~ChildProcess() { End(0); }

void ChildProcess::LimitAddresses(int64_t bytes) {
  rlimit limit;
  if (HasEnded() || prlimit(pid_, RLIMIT_AS, nullptr, &limit) != 0) return;
  if (limit.rlim_max == RLIM_INFINITY) return;  // As under sanitizers, which need terabytes.
  limit.rlim_cur = std::min(static_cast<rlim_t>(std::max<int64_t>(bytes, 0)), limit.rlim_max);
  prlimit(pid_, RLIMIT_AS, &limit, nullptr);
}

bool ChildProcess::HasEnded() {
  if (ending_.has_value()) return true;
  siginfo_t ended{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid != pid_) {
    return false;
  }
  Reap();
  return true;
}

void ChildProcess::Reap() {
  // Until it is waited for, no other process and no other group can have its number.
  if (group_ == Group::kOwn) kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = Decode(status);
  if (group_ == Group::kOwn) AwaitEndOfGroup(pid_);
}

int64_t ChildProcess::AnonymousBytes() const {
  const absl::StatusOr<std::string> status = ReadFile(absl::StrCat("/proc/", pid_, "/status"));
  if (!status.ok()) return 0;
  for (absl::string_view line : absl::StrSplit(*status, '\n')) {
    int64_t kib = 0;
    if (absl::ConsumePrefix(&line, "RssAnon:") && absl::ConsumeSuffix(&line, " kB") &&
        absl::SimpleAtoi(line, &kib)) {
      return kib << 10;
    }
  }
  return 0;
}

void ChildProcess::Kill() const { kill(group_ == Group::kOwn ? -pid_ : pid_, SIGKILL); }

ChildProcess::Ending ChildProcess::End(double patience_seconds) {
  if (!HasEnded()) AwaitEnd(pid_, patience_seconds);
  if (!HasEnded()) {
    Kill();
    siginfo_t ended;
    while (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    Reap();
  }
  return *ending_;
}

absl::StatusOr<SocketPair> MakeSocketPair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoError("make", "a pair of sockets");
  }
  return SocketPair{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace quotient::os
