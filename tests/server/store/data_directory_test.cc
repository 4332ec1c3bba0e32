#include "server/store/disk/data_directory.h"

#include "core/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using testing::StatusIs;
using testing::TempDir;

TEST(DataDirectoryTest, BelongsToOneProcessAtATime) {
  TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const auto first, DataDirectory::Open(dir / "data/deep"));
    EXPECT_THAT(DataDirectory::Open(dir / "data/deep"),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_OK(DataDirectory::Open(dir / "data/deep"));
}

TEST(DataDirectoryTest, AHalfRestoredFolderIsNotOpened) {
  TempDir dir;
  ASSERT_OK(os::MakeDirectories(dir / "RESTORING"));
  const auto refused = DataDirectory::Open(dir.path());
  ASSERT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(refused.status().message()),
              ::testing::HasSubstr("run quotient-restore again"));
}

}  // namespace
}  // namespace quotient::store
