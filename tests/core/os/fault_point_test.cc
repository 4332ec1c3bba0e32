#include "core/os/fault_point.h"

#include <signal.h>

#include <fstream>
#include <string>

#include "core/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::os {
namespace {

using ::quotient::testing::TempDir;
using ::testing::KilledBySignal;

// A fault is chosen once in a process, so each case is a process of its own.
class FaultPointTest : public ::testing::Test {
 protected:
  std::string Marker() const { return dir_ / "marker"; }

  TempDir dir_;
};

// Goes by the places a, b, b and then ends as it should.
[[noreturn]] void Walk(const std::string& fault) {
  if (!ChooseFault(fault).ok()) _exit(1);
  for (const char* const name : {"a", "b", "b"}) FaultPoint(name);
  _exit(0);
}

TEST_F(FaultPointTest, KillsAtThePlaceThatWasChosen) {
  EXPECT_EXIT(Walk("b:kill:" + Marker()), KilledBySignal(SIGKILL), "");
  ASSERT_OK_AND_ASSIGN(const std::string marker, ReadFile(Marker()));
  EXPECT_EQ(marker, "b\n");
}

TEST_F(FaultPointTest, CountsPassages) {
  EXPECT_EXIT(Walk("b@2:kill:" + Marker()), KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(Walk("a@2:kill:" + (dir_ / "never")), ::testing::ExitedWithCode(0), "");
}

TEST_F(FaultPointTest, OtherPlacesArePassedBy) {
  EXPECT_EXIT(Walk("c:kill:" + Marker()), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(Walk(""), ::testing::ExitedWithCode(0), "");
}

TEST_F(FaultPointTest, HappensOnceAmongAllProcesses) {
  EXPECT_EXIT(Walk("a:kill:" + Marker()), KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(Walk("a:kill:" + Marker()), ::testing::ExitedWithCode(0), "");
}

TEST_F(FaultPointTest, AProcessThatSleepsGoesOn) {
  EXPECT_EXIT(Walk("a:sleep=1:" + Marker()), ::testing::ExitedWithCode(0), "");
  ASSERT_OK_AND_ASSIGN(const std::string marker, ReadFile(Marker()));
  EXPECT_EQ(marker, "a\n");
}

TEST_F(FaultPointTest, WhatIsNotUnderstoodIsRefused) {
  for (const std::string value :
       {"a", "a:kill", "a:end:", ":kill:", "a@0:kill:", "a@x:kill:", "a:sleep=:", "a:sleep=-1:"}) {
    EXPECT_THAT(ChooseFault(value + "FILE"), testing::StatusIs(absl::StatusCode::kInvalidArgument))
        << value;
  }
}

}  // namespace
}  // namespace quotient::os
