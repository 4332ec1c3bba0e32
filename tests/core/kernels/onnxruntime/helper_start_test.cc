// How the helper process is started: with which library, program, folder and priority.

#include <sched.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "core/base/reason.h"
#include "core/kernels/onnxruntime/helper_client.h"
#include "core/os/precedence.h"
#include "core/os/program_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/kernels/onnxruntime/helper_client_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::HasReason;
using quotient::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class HelperStartTest : public HelperClientTest {};

TEST_F(HelperStartTest, TellsWhatIsWrongWithTheLibrary) {
  const quotient::testing::TempDir folder;
  const std::string text = folder / "text.so";
  std::ofstream(text) << "no library";
  const struct {
    std::string library;
    const char* message;
  } cases[] = {
      {folder / "none.so", "there is no ONNX Runtime at"},
      {"libthereisnone.so", "there is no ONNX Runtime at"},
      {text, "cannot be loaded as ONNX Runtime's library"},
      {os::FindBesideProgram("libort_test_other.so", {""}), "is not ONNX Runtime's library"},
      {os::FindBesideProgram("libort_test_old.so", {""}), "ONNX Runtime 1.17.3"},
      {os::FindBesideProgram("libort_test_old.so", {""}), "is too old: 1.18 is needed"},
      {os::FindBesideProgram("libort_test_cut.so", {""}), "is of another build"},
  };
  for (const auto& [library, message] : cases) {
    HelperOptions options = Options();
    options.library = library;
    EXPECT_THAT(HelperClient::Create(options),
                HasReason(Reason::kDeviceNotPresent, HasSubstr(message)));
  }
}

TEST_F(HelperStartTest, TellsThatTheLibraryLacksAProvider) {
  HelperOptions options = Options();
  options.provider = "CUDAExecutionProvider";
  EXPECT_THAT(
      HelperClient::Create(options),
      HasReason(Reason::kDeviceNotPresent, AllOf(HasSubstr("has no CUDAExecutionProvider, only "),
                                                 HasSubstr("CPUExecutionProvider"))));
}

TEST_F(HelperStartTest, TellsThatThereIsNoFolderToWorkIn) {
  HelperOptions options = Options();
  options.environment["TMPDIR"] = "/nowhere";
  EXPECT_THAT(HelperClient::Create(options),
              HasReason(Reason::kDeviceNotPresent, HasSubstr("no folder to work in")));
}

// The same code in another file: what is appended to a library is never read.
std::string OtherBuild(const quotient::testing::TempDir& folder) {
  const std::string path = folder / "libonnxruntime.so";
  std::filesystem::copy_file(Options().library, path);
  std::ofstream(path, std::ios::app) << "another build";
  return path;
}

TEST_F(HelperStartTest, TellsBuildsOfOneVersionApart) {
  const quotient::testing::TempDir folder;
  Start();
  const std::string version = client_->version(), build = client_->build();
  Start();
  EXPECT_EQ(client_->build(), build);
  HelperOptions options = Options();
  options.library = OtherBuild(folder);
  Start(options);
  EXPECT_EQ(client_->version(), version);
  EXPECT_NE(client_->build(), build);
}

TEST_F(HelperStartTest, ALibraryThatWasReplacedIsNotUsed) {
  const quotient::testing::TempDir folder;
  HelperOptions options = Options();
  options.library = folder / "link.so";
  std::filesystem::create_symlink(Options().library, options.library);
  Start(options);
  ExpectWorks();
  std::filesystem::remove(options.library);
  std::filesystem::create_symlink(OtherBuild(folder), options.library);
  ExpectWorks();  // By the process that has the first one.
  SendToHelper(SIGKILL);
  EXPECT_THAT(client_->Run(session_, 1), StatusIs(absl::StatusCode::kAborted));
  EXPECT_OK(client_->health());
  EXPECT_THAT(Twice(), HasReason(Reason::kDeviceLost, HasSubstr("and is now ")));
  EXPECT_THAT(client_->health(), HasReason(Reason::kDeviceLost));
}

TEST_F(HelperStartTest, TellsThatTheProgramIsMissing) {
  HelperOptions options = Options();
  options.program = "/nowhere/quotient-ort";
  EXPECT_THAT(HelperClient::Create(options),
              HasReason(Reason::kDeviceNotPresent, HasSubstr("/nowhere/quotient-ort")));
  options.program = "/bin/true";
  EXPECT_THAT(HelperClient::Create(options), HasReason(Reason::kDeviceNotPresent, HasSubstr("")));
}

TEST_F(HelperStartTest, TakesPrecedenceIfToldToAndPermitted) {
  Start();
  EXPECT_EQ(sched_getscheduler(HelperProcess()), SCHED_OTHER);
  client_.reset();
  HelperOptions options = Options();
  options.takes_precedence = true;
  Start(options);
  ExpectWorks();
  bool is_permitted = false;
  std::thread([&] { is_permitted = os::TakePrecedence(); }).join();
  EXPECT_EQ(sched_getscheduler(HelperProcess()), is_permitted ? SCHED_RR : SCHED_OTHER);
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
