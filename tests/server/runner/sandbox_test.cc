#include "server/runner/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "core/os/files.h"
#include "tests/server/runner/in_child.h"
#include "tests/support/temp_dir.h"

namespace quotient::runner {
namespace {

// What runs here needs these.
FileRights Rights() {
  return {
      .read = {"/usr", "/lib", "/lib64", "/bin", "/proc"}, .write = {"/dev/null"}, .own = {"/tmp"}};
}

int InSandbox(const std::function<int()>& body, const Sandbox& sandbox = {.files = Rights()}) {
  const int returned = InChildAfter([&] { return EnterSandbox(sandbox).ok(); }, body);
  if (returned == 77) ADD_FAILURE() << "the kernel does not permit all of it here";
  return returned;
}

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

TEST(SandboxTest, ThereIsNoWayToTheServersOfThisMachine) {
  const auto use = [] {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = "/tmp/no-such-socket"};
    const int file = socket(AF_UNIX, SOCK_STREAM, 0);
    return Refused(connect(file, reinterpret_cast<sockaddr*>(&address), sizeof(address))) |
           Refused(listen(file, 1)) << 1;
  };
  EXPECT_EQ(InSandbox(use), 3);
  EXPECT_EQ(InSandbox(use, {.files = Rights(), .connects = true}), 0);
  EXPECT_EQ(InChild(use), 0);
}

TEST(SandboxTest, NothingOutlivesTheProcess) {
  const auto use = [] {
    return Refused(setsid()) | Refused(setpgid(0, getppid())) << 1 |
           Refused(shmget(IPC_PRIVATE, 0, 0)) << 2 | Refused(msgget(0x5eed, 0)) << 3;
  };
  EXPECT_EQ(InSandbox(use), 15);
  EXPECT_EQ(InChild(use) & 13, 0);
}

TEST(SandboxTest, WhoseFilesAreAndWhenTheyWereUsedStaysAsItIs) {
  const testing::TempDir dir;
  const std::string path = dir / "file";
  std::ofstream(path) << "x";
  const auto use = [&path] {
    return Refused(chmod(path.c_str(), 0600)) |
           Refused(chown(path.c_str(), geteuid(), getegid())) << 1 |
           Refused(utimensat(AT_FDCWD, path.c_str(), nullptr, 0)) << 2;
  };
  EXPECT_EQ(InSandbox(use), 7);
  EXPECT_EQ(InChild(use), 0);
}

TEST(SandboxTest, NothingIsTypedIntoTheTerminal) {
  const auto use = [] { return Refused(ioctl(STDERR_FILENO, TIOCSTI, "x")); };
  EXPECT_EQ(InSandbox(use), 1);
}

TEST(SandboxTest, OfTheCapabilitiesOfRootTwoAreLeft) {
  EXPECT_EQ(InSandbox([] {
              __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
              __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
              if (syscall(SYS_capget, &header, sets) != 0) return 2;
              const uint32_t left = CAP_TO_MASK(CAP_DAC_OVERRIDE) | CAP_TO_MASK(CAP_SYS_NICE);
              return (sets[0].permitted & ~left) == 0 && sets[1].permitted == 0 ? 0 : 1;
            }),
            0);
}

// For which a capability would do, too.
TEST(SandboxTest, TheVariablesOfOtherProcessesAreNotSeen) {
  const std::string path = "/proc/" + std::to_string(getpid()) + "/environ";
  const auto use = [&path] { return Refused(open(path.c_str(), O_RDONLY)); };
  EXPECT_EQ(InSandbox(use), 1);
  EXPECT_EQ(InChild(use), 0);
}

TEST(SandboxTest, FilesHaveALimitThatIsNoCrash) {
  const testing::TempDir dir;
  EXPECT_EQ(InSandbox(
                [&dir] {
                  const os::Fd file(open((dir / "file").c_str(), O_WRONLY | O_CREAT, 0600));
                  if (pwrite(file.get(), "x", 1, 999) != 1) return 1;
                  return pwrite(file.get(), "x", 1, 1000) < 0 && errno == EFBIG ? 0 : 2;
                },
                {.files = Rights(), .most_file_bytes = 1000}),
            0);
}

TEST(SandboxTest, FilesAreRestricted) {
  const auto use = [] { return Refused(open("/etc/hostname", O_RDONLY)); };
  EXPECT_EQ(InSandbox(use), 1);
  EXPECT_EQ(InChild(use), 0);
}

}  // namespace
}  // namespace quotient::runner
