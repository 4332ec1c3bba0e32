#include "server/runner/sandbox.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "absl/status/status.h"

namespace quotient::runner {
namespace {

// Runs `body` in a process of its own, and returns what it returns: a few bits.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int InSandbox(const std::function<int()>& body) {
  constexpr int kNoSandbox = 77;
  const int returned = InChild([&] { return EnterSandbox().ok() ? body() : kNoSandbox; });
  if (returned == kNoSandbox) ADD_FAILURE() << "the kernel permits no filters here";
  return returned;
}

// 1 if the call failed for want of permission.
int Refused(long result) { return result < 0 && errno == EPERM ? 1 : 0; }

TEST(SandboxTest, ThereIsNoNetwork) {
  EXPECT_EQ(InSandbox([] {
              return Refused(socket(AF_INET, SOCK_STREAM, 0)) |
                     Refused(socket(AF_INET6, SOCK_DGRAM, 0)) << 1 |
                     Refused(socket(AF_NETLINK, SOCK_RAW, 0)) << 2;
            }),
            7);
}

TEST(SandboxTest, LocalSocketsFilesAndThreadsAreLeft) {
  EXPECT_EQ(InSandbox([] {
              int pair[2];
              const bool has_sockets = socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
                                       socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
              std::FILE* const file = std::tmpfile();
              bool ran = false;
              std::thread([&ran] { ran = true; }).join();
              return has_sockets && file != nullptr && ran ? 0 : 1;
            }),
            0);
}

TEST(SandboxTest, OtherProcessesAndNamespacesAreOutOfReach) {
  EXPECT_EQ(InSandbox([] {
              return Refused(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)) |
                     Refused(unshare(CLONE_NEWUSER)) << 1 |
                     Refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)) << 2 |
                     (syscall(SYS_clone3, nullptr, 0) < 0 && errno == ENOSYS ? 8 : 0);
            }),
            15);
}

TEST(SandboxTest, ThreadsAndProgramsThatAreStartedAreInIt) {
  EXPECT_EQ(
      InSandbox([] {
        int refused = 0;
        std::thread([&refused] { refused = Refused(socket(AF_INET, SOCK_STREAM, 0)); }).join();
        return refused;
      }),
      1);
  // A shell opens sockets by its own means. It does so only outside.
  const auto start = [] {
    execl("/bin/bash", "bash", "-c", "exec 2>/dev/null; : >/dev/udp/127.0.0.1/9", nullptr);
    return 0;
  };
  EXPECT_EQ(InChild(start), 0);
  EXPECT_NE(InSandbox(start), 0);
}

}  // namespace
}  // namespace quotient::runner
