#include "tests/core/prove/apart.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"

namespace quotient::prove {
namespace {

// Exit status of a process that has answered.
constexpr int kAnswered = 0;
constexpr int kCouldNotAnswer = 1;

void SetLimits(const ApartLimits& limits) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (limits.memory_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(limits.memory_bytes);
    const rlimit memory{bytes, bytes};
    setrlimit(RLIMIT_AS, &memory);
  }
#endif
  signal(SIGALRM, SIG_DFL);
  alarm(limits.seconds);
}

// An exception ends the process: it must not reach what called RunApart in the other process.
[[noreturn]] void Work(const std::function<std::string()>& work, const ApartLimits& limits,
                       const os::Fd& pipe) noexcept {
  const int nothing = open("/dev/null", O_WRONLY);
  dup2(nothing, STDERR_FILENO);
  SetLimits(limits);
  _exit(os::WriteFully(pipe, work(), "the pipe").ok() ? kAnswered : kCouldNotAnswer);
}

// Everything that is written to the pipe, but no more than kMostAnswer + 1 bytes.
std::string ReadAnswer(const os::Fd& pipe) {
  std::string answer;
  char buffer[4096];
  while (answer.size() <= kMostAnswer) {
    const ssize_t count = read(pipe.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    answer.append(buffer, static_cast<size_t>(count));
  }
  return answer;
}

absl::Status StatusOf(int status, const ApartLimits& limits) {
  if (WIFEXITED(status)) {
    const int code = WEXITSTATUS(status);
    if (code == kAnswered) return absl::OkStatus();
    return absl::AbortedError(absl::StrCat("its process ended with status ", code));
  }
  const int signal = WTERMSIG(status);
  if (signal == SIGALRM) {
    return absl::DeadlineExceededError(
        absl::StrCat("its process had no answer after ", limits.seconds, " s"));
  }
  return absl::AbortedError(
      absl::StrCat("its process was ended by signal ", signal, ", ", strsignal(signal)));
}

}  // namespace

absl::StatusOr<std::string> RunApart(const std::function<std::string()>& work,
                                     const ApartLimits& limits) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::InternalError("no pipe");
  const os::Fd from(ends[0]);
  os::Fd to(ends[1]);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return absl::InternalError("no process");
  if (child == 0) Work(work, limits, to);
  to.Close();
  std::string answer = ReadAnswer(from);
  const bool is_too_long = answer.size() > kMostAnswer;
  if (is_too_long) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
    if (errno != EINTR) return absl::InternalError("the process is lost");
  }
  if (is_too_long) return absl::ResourceExhaustedError("the answer is too long");
  QUOTIENT_RETURN_IF_ERROR(StatusOf(status, limits));
  return answer;
}

}  // namespace quotient::prove
