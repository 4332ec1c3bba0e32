#include "core/kernels/onnxruntime/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "core/base/digest.h"
#include "core/os/files.h"
#include "core/os/program_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string RealLibrary() { return os::FindBesideProgram("libonnxruntime.so", {"../lib/"}); }
std::string BesideTest(const std::string& file) { return os::FindBesideProgram(file, {""}); }

std::string MessageOf(const absl::StatusOr<Library>& library) {
  return std::string(library.status().message());
}

TEST(LibraryTest, TellsWhatWasLoaded) {
  ASSERT_OK_AND_ASSIGN(const Library library, LoadLibrary(RealLibrary()));
  EXPECT_THAT(library.version, StartsWith("1."));
  EXPECT_THAT(library.providers, Contains("CPUExecutionProvider"));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, os::ReadFile(RealLibrary()));
  EXPECT_EQ(library.build, Digest::Of(bytes).Hex().substr(0, 16));
}

TEST(LibraryTest, ItsFunctionsCanBeCalled) {
  ASSERT_OK_AND_ASSIGN(const Library library, LoadLibrary(RealLibrary()));
  OrtSessionOptions* options = nullptr;
  ASSERT_EQ(library.api.CreateSessionOptions(&options), nullptr);
  ASSERT_NE(options, nullptr);
  OrtStatus* const status = library.api.SetSessionGraphOptimizationLevel(options, -7);
  ASSERT_NE(status, nullptr) << "there is no such level";
  EXPECT_THAT(library.api.GetErrorMessage(status), HasSubstr("level"));
  library.api.ReleaseStatus(status);
  library.api.ReleaseSessionOptions(options);
}

TEST(LibraryTest, AMissingFileIsNotFoundByItsPathOrByItsName) {
  const quotient::testing::TempDir folder;
  for (const std::string& path : {folder / "libonnxruntime.so", std::string("libthereisnone.so")}) {
    const auto library = LoadLibrary(path);
    EXPECT_THAT(library, StatusIs(absl::StatusCode::kNotFound));
    EXPECT_THAT(MessageOf(library), HasSubstr(path));
  }
}

// 1.9 is older than 1.18, though it is larger as a text.
TEST(LibraryTest, AnOldReleaseIsToldWithWhatIsNeeded) {
  for (const auto& [file, version] :
       {std::pair("libort_test_old.so", "1.17.3"), std::pair("libort_test_older.so", "1.9.0")}) {
    const auto library = LoadLibrary(BesideTest(file));
    EXPECT_THAT(library, StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_THAT(MessageOf(library), HasSubstr(version));
    EXPECT_THAT(MessageOf(library), HasSubstr("1.18 is needed"));
  }
}

TEST(LibraryTest, ANewReleaseWithoutTheVersionOfTheTableIsSomethingElse) {
  for (const char* const file : {"libort_test_cut.so", "libort_test_next.so"}) {
    const auto library = LoadLibrary(BesideTest(file));
    EXPECT_THAT(library, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(MessageOf(library), HasSubstr("is of another build"));
  }
}

TEST(LibraryTest, WhatIsNoSuchLibraryIsToldFromOneThatDoesNotLoad) {
  const auto other = LoadLibrary(BesideTest("libort_test_other.so"));
  EXPECT_THAT(other, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MessageOf(other), HasSubstr("it has no OrtGetApiBase"));
  EXPECT_THAT(MessageOf(other), HasSubstr("libonnxruntime.so of a release archive"));

  const quotient::testing::TempDir folder;
  const std::string text = folder / "text.so";
  std::ofstream(text) << "no library";
  const std::string fifo = folder / "fifo.so";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& [path, problem] :
       {std::pair(text, "cannot be loaded as ONNX Runtime's library"),
        std::pair(folder.path(), "is a folder"), std::pair(fifo, "is no regular file")}) {
    const auto library = LoadLibrary(path);
    EXPECT_THAT(library, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(MessageOf(library), HasSubstr(problem));
    EXPECT_THAT(MessageOf(library), HasSubstr("of a wheel, which wheels have since 1.20"));
  }
}

// A library keeps its link's target, whose content is what identifies it.
TEST(LibraryTest, ALinkIsTheBuildThatItLeadsTo) {
  const quotient::testing::TempDir folder;
  const std::string link = folder / "link.so";
  std::filesystem::create_symlink(RealLibrary(), link);
  ASSERT_OK_AND_ASSIGN(const Library direct, LoadLibrary(RealLibrary()));
  ASSERT_OK_AND_ASSIGN(const Library linked, LoadLibrary(link));
  EXPECT_EQ(linked.build, direct.build);
  EXPECT_EQ(linked.version, direct.version);
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
