#include "core/os/guarded_main.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "core/os/files.h"
#include "tests/support/temp_dir.h"

namespace quotient::os {
namespace {

using ::testing::ExitedWithCode;

constexpr FailureStatus kStatus{.other = 41, .out_of_memory = 42};

// Runs in a process that a test starts: what is set there stays.
template <typename Run>
[[noreturn]] void RunAndExit(const Run& run) {
  std::exit(GuardedMain("program", kStatus, run));
}

TEST(GuardedMainTest, ReturnsWhatMainReturns) {
  EXPECT_EXIT(RunAndExit([] { return 7; }), ExitedWithCode(7), "^$");
}

TEST(GuardedMainTest, WhatNothingCatchesIsToldAndGivesAStatus) {
  EXPECT_EXIT(RunAndExit([]() -> int { throw std::bad_alloc(); }), ExitedWithCode(42),
              "^program: no memory is left\n$");
  EXPECT_EXIT(RunAndExit([]() -> int { throw std::system_error(EAGAIN, std::generic_category()); }),
              ExitedWithCode(41), "^program: no thread can be started: Resource temp");
  EXPECT_EXIT(RunAndExit([]() -> int { throw std::runtime_error("this"); }), ExitedWithCode(41),
              "^program: INTERNAL: this\n$");
  EXPECT_EXIT(RunAndExit([]() -> int { throw 1; }), ExitedWithCode(41), "^program: INTERNAL: an ");
}

TEST(GuardedMainTest, OtherThreadsEndTheProgramInTheSameWay) {
  EXPECT_EXIT(RunAndExit([] {
                std::thread([] { throw std::bad_alloc(); }).join();
                return 0;
              }),
              ExitedWithCode(42), "^program: no memory is left\n$");
}

TEST(GuardedMainTest, ALibraryDoesNotChooseTheStatus) {
  EXPECT_EXIT(RunAndExit([]() -> int { std::exit(1); }), ExitedWithCode(41), "^$");
}

TEST(GuardedMainTest, AWriteBeyondTheLimitOfFilesFails) {
  const quotient::testing::TempDir dir;
  EXPECT_EXIT(RunAndExit([&dir] {
                const rlimit limit{16, 16};
                setrlimit(RLIMIT_FSIZE, &limit);
                const auto file = OpenFile(dir / "f", O_WRONLY | O_CREAT);
                const absl::Status written = WriteFully(*file, "more than sixteen bytes", "f");
                return written.message() == "write f: File too large" ? 7 : 8;
              }),
              ExitedWithCode(7), "");
}

}  // namespace
}  // namespace quotient::os
