#include "server/store/disk/ballast.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

class BallastTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMinFree = 1000;

  void Tend(int64_t free_bytes) { EXPECT_OK(TendBallast(path_, free_bytes, kMinFree)); }
  // What the file takes of the disk.
  int64_t Takes() const {
    struct stat status;
    return stat(path_.c_str(), &status) == 0 ? int64_t{status.st_blocks} * 512 : 0;
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "BALLAST";
};

TEST_F(BallastTest, TakesRoomWhereThereIsEnough) {
  Tend(kMinFree + 2 * kBallastBytes - 1);
  EXPECT_EQ(Takes(), 0);
  Tend(kMinFree + 2 * kBallastBytes);
  EXPECT_GE(Takes(), kBallastBytes);
  Tend(kMinFree + kBallastBytes);
  EXPECT_GE(Takes(), kBallastBytes) << "what it takes itself is no reason to go";
}

TEST_F(BallastTest, IsGivenUpOnAFullDiskAndMadeAnewLater) {
  Tend(INT64_MAX / 2);
  Tend(kBallastBytes - 1);
  EXPECT_FALSE(std::filesystem::exists(path_));
  Tend(0);
  EXPECT_FALSE(std::filesystem::exists(path_));
  Tend(INT64_MAX / 2);
  EXPECT_GE(Takes(), kBallastBytes);
}

// A crash between making the file and giving it its size leaves that.
TEST_F(BallastTest, IsMadeAnewIfItTakesNothing) {
  std::ofstream(path_).close();
  Tend(kMinFree + 2 * kBallastBytes - 1);
  EXPECT_EQ(Takes(), 0);
  Tend(kMinFree + 2 * kBallastBytes);
  EXPECT_GE(Takes(), kBallastBytes);
}

TEST_F(BallastTest, AFailureLeavesNothing) {
  EXPECT_FALSE(TendBallast(dir_ / "no/such/folder", INT64_MAX / 2, 0).ok());
}

}  // namespace
}  // namespace quotient::store
