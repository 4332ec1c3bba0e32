#include "core/os/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace quotient::os {
namespace {

using quotient::testing::HasReason;
using ::testing::HasSubstr;

std::unique_ptr<ChildProcess> Shell(const std::string& script, const Fd& socket) {
  auto child = ChildProcess::Start("/bin/sh", {"-c", script}, {{"WORD", "hello"}}, socket);
  EXPECT_THAT(child, quotient::testing::IsOk());
  return *std::move(child);
}

// What arrives until the other end is closed.
std::string ReadAll(const Fd& socket) {
  std::string all;
  char buffer[64];
  for (ssize_t count; (count = read(socket.get(), buffer, sizeof(buffer))) > 0;) {
    all.append(buffer, static_cast<size_t>(count));
  }
  return all;
}

TEST(ChildProcessTest, HasTheSocketAndTheEnvironment) {
  ASSERT_OK_AND_ASSIGN(SocketPair sockets, MakeSocketPair());
  const auto child = Shell("echo $WORD >&3; exit 7", sockets.theirs);
  sockets.theirs.Close();
  EXPECT_EQ(ReadAll(sockets.ours), "hello\n");
  EXPECT_EQ(child->End(10).exit_status, 7);
  EXPECT_EQ(child->End(10).exit_status, 7);
}

TEST(ChildProcessTest, HasNothingElseOpen) {
  ASSERT_OK_AND_ASSIGN(SocketPair sockets, MakeSocketPair());
  const Fd kept(dup(sockets.ours.get()));  // Is not closed by execve.
  const auto child =
      Shell(absl::StrCat("[ -e /proc/$$/fd/", kept.get(), " ] && echo is open >&3; echo end >&3"),
            sockets.theirs);
  sockets.theirs.Close();
  EXPECT_EQ(ReadAll(sockets.ours), "end\n");
}

// The limit of a child after LimitAddresses(1 GiB), in KiB as the shell says it.
std::string LimitAfterwards(const std::string& limit_of_its_own) {
  SocketPair sockets = *MakeSocketPair();
  const auto child = Shell(
      absl::StrCat(limit_of_its_own, "echo ready >&3; read _ <&3; ulimit -v >&3"), sockets.theirs);
  sockets.theirs.Close();
  char ready[6];
  EXPECT_EQ(read(sockets.ours.get(), ready, sizeof(ready)), 6);
  child->LimitAddresses(int64_t{1} << 30);
  EXPECT_EQ(write(sockets.ours.get(), "\n", 1), 1);
  return ReadAll(sockets.ours);
}

TEST(ChildProcessTest, HasNoMoreAddressesThanItIsGivenAndThanItGaveItself) {
  EXPECT_EQ(LimitAfterwards("ulimit -v 2097152; "), "1048576\n");
  EXPECT_EQ(LimitAfterwards("ulimit -v 524288; "), "524288\n");
}

TEST(ChildProcessTest, ThatHasNoLimitGetsNone) {
  rlimit own;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &own), 0);
  if (own.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "this process has a limit of its own";
  EXPECT_EQ(LimitAfterwards(""), "unlimited\n");
}

TEST(ChildProcessTest, IsKilledAfterAWhile) {
  ASSERT_OK_AND_ASSIGN(SocketPair sockets, MakeSocketPair());
  const auto child = Shell("read forever <&3", sockets.theirs);
  EXPECT_FALSE(child->HasEnded());
  const ChildProcess::Ending ending = child->End(0.01);
  EXPECT_TRUE(child->HasEnded());
  EXPECT_EQ(ending.signal, SIGKILL);
  EXPECT_EQ(ending.exit_status, -1);
}

TEST(ChildProcessTest, TellsWhichSignalEndedIt) {
  ASSERT_OK_AND_ASSIGN(SocketPair sockets, MakeSocketPair());
  EXPECT_EQ(Shell("kill -TERM $$", sockets.theirs)->End(10).signal, SIGTERM);
}

TEST(ChildProcessTest, CannotBeStartedFromNothing) {
  ASSERT_OK_AND_ASSIGN(SocketPair sockets, MakeSocketPair());
  EXPECT_THAT(ChildProcess::Start("/nowhere/program", {}, {}, sockets.theirs),
              HasReason(Reason::kStorageDown, HasSubstr("/nowhere/program")));
}

// What a program has started, told by its output: the socket is closed when all of them have ended.
TEST(ChildProcessTest, AGroupEndsWithItsProgram) {
  for (const auto group : {ChildProcess::Group::kOwn, ChildProcess::Group::kStarters}) {
    ASSERT_OK_AND_ASSIGN(SocketPair sockets, MakeSocketPair());
    ASSERT_OK_AND_ASSIGN(const auto child,
                         ChildProcess::Start("/bin/sh", {"-c", "sleep 1000 & echo $! >&3; exit 7"},
                                             {}, sockets.theirs, group));
    sockets.theirs.Close();
    char text[16] = {};
    ASSERT_GT(read(sockets.ours.get(), text, sizeof(text) - 1), 0);
    const pid_t started = std::stoi(text);
    EXPECT_EQ(child->End(10).exit_status, 7);
    if (group == ChildProcess::Group::kOwn) {
      EXPECT_EQ(ReadAll(sockets.ours), "");
    } else {
      EXPECT_EQ(kill(started, SIGKILL), 0) << "it lives on";
    }
  }
}

// As in a container, whose first process gets what others leave behind.
TEST(ChildProcessTest, NothingOfAGroupIsLeftToCollect) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  ASSERT_OK_AND_ASSIGN(SocketPair sockets, MakeSocketPair());
  ASSERT_OK_AND_ASSIGN(
      const auto child,
      ChildProcess::Start("/bin/sh", {"-c", "sleep 1000 & sleep 1000 & echo ready >&3; wait"}, {},
                          sockets.theirs, ChildProcess::Group::kOwn));
  sockets.theirs.Close();
  char ready[6];
  EXPECT_EQ(read(sockets.ours.get(), ready, sizeof(ready)), 6);
  EXPECT_EQ(child->End(0).signal, SIGKILL);
  siginfo_t left;
  EXPECT_EQ(waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT), -1);
  EXPECT_EQ(errno, ECHILD);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace quotient::os
