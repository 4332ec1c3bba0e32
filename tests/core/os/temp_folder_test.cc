#include "core/os/temp_folder.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "core/base/reason.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::os {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::TempDir;

TEST(TempFolderTest, IsEmptyAndGoesWithAllThatIsInIt) {
  const TempDir place;
  std::string path;
  {
    ASSERT_OK_AND_ASSIGN(const auto folder, TempFolder::Create(place / "", "work-"));
    path = folder->path();
    EXPECT_TRUE(std::filesystem::is_empty(path));
    std::filesystem::create_directory(path + "/deep");
    std::ofstream(path + "/deep/file") << "x";
    ASSERT_OK_AND_ASSIGN(const auto other, TempFolder::Create(place / "", "work-"));
    EXPECT_NE(other->path(), path);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TempFolderTest, WithoutAPlaceThereIsNone) {
  EXPECT_THAT(TempFolder::Create("/nowhere", "work-"), HasReason(Reason::kStorageDown));
}

TEST(TempFolderTest, OnlyAbandonedFoldersOfTheNameAreRemoved) {
  const TempDir place;
  ASSERT_OK_AND_ASSIGN(const auto used, TempFolder::Create(place / "", "work-"));
  for (const char* name : {"work-abandoned", "other-abandoned"}) {
    std::filesystem::create_directory(place / name);
  }
  std::ofstream(place / "work-abandoned/file") << "x";
  std::ofstream(place / "work-file") << "x";
  std::filesystem::create_directory_symlink(place / "other-abandoned", place / "work-link");
  TempFolder::RemoveAbandoned(place / "", "work-");
  TempFolder::RemoveAbandoned("/nowhere", "work-");
  EXPECT_TRUE(std::filesystem::exists(used->path()));
  EXPECT_FALSE(std::filesystem::exists(place / "work-abandoned"));
  for (const char* name : {"other-abandoned", "work-file", "work-link"}) {
    EXPECT_TRUE(std::filesystem::exists(place / name)) << name;
  }
}

TEST(TempFolderTest, ThePlaceIsThatOfTheEnvironment) {
  EXPECT_EQ(TempPlace({{"TMPDIR", "/fast"}}), "/fast");
  EXPECT_EQ(TempPlace({}), "/tmp");
}

}  // namespace
}  // namespace quotient::os
