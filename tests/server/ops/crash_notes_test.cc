#include "server/ops/crash_notes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "server/jobs/thread_names.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::ops {
namespace {

using jobs::LastEnd;
using Kind = LastEnd::Kind;

// Runs `act` in a child process on a thread of a worker, and returns what is known of its end.
template <typename Act>
LastEnd EndAfter(Act act) {
  const testing::TempDir dir;
  const std::string path = dir / "RUN";
  const auto record = store::RunRecord::Begin(path, "boot");
  EXPECT_OK(record);
  const pid_t child = fork();
  if (child == 0) {
    NoteCrashesIn(record->get());
    // The thread that crashes is one that the worker's thread has started.
    std::thread([&act] {
      const jobs::ThreadName name(jobs::WorkerName(3));
      std::thread(act).join();
    }).join();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it did not die";
  return store::RunRecord::Read(path, "boot");
}

void ExpectCrashOfTheWorker(const LastEnd& end) {
  EXPECT_EQ(end.kind, Kind::kCrash);
  EXPECT_EQ(end.thread, "worker 3");
}

TEST(CrashNotesTest, AFaultIsNoted) {
  ExpectCrashOfTheWorker(EndAfter([] { *static_cast<volatile int*>(nullptr) = 1; }));
}

TEST(CrashNotesTest, AnAbortIsNoted) {
  ExpectCrashOfTheWorker(EndAfter([] { abort(); }));
}

TEST(CrashNotesTest, AnExceptionThatNobodyCatchesIsNoted) {
  ExpectCrashOfTheWorker(EndAfter([] { throw std::runtime_error("x"); }));
}

TEST(CrashNotesTest, ASignalFromOutsideIsNot) {
  for (const int number : {SIGSEGV, SIGKILL}) {
    const LastEnd end = EndAfter([number] {
      // Sent by another process.
      const pid_t victim = getpid();
      const pid_t sender = fork();
      if (sender == 0) {
        kill(victim, number);
        _exit(0);
      }
      pause();
    });
    EXPECT_EQ(end.kind, Kind::kUnknown) << number;
  }
}

}  // namespace
}  // namespace quotient::ops
