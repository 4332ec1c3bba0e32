#include "client/cpp/open_beneath.h"

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::client {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::TempDir;

class OpenBeneathTest : public ::testing::Test {
 protected:
  OpenBeneathTest() {
    std::filesystem::create_directories(dir_ / "model/sub");
    std::ofstream(dir_ / "secret") << "secret";
    std::ofstream(dir_ / "model/w") << "weights";
    std::ofstream(dir_ / "model/sub/w") << "weights";
    folder_ = *os::OpenFile(dir_ / "model", O_RDONLY | O_DIRECTORY);
  }

  TempDir dir_;
  os::Fd folder_;
};

TEST_F(OpenBeneathTest, OpensWhatIsInTheFolder) {
  EXPECT_OK(OpenBeneath(folder_, "w"));
  EXPECT_OK(OpenBeneath(folder_, "sub/w"));
}

TEST_F(OpenBeneathTest, NeverLeavesTheFolder) {
  const std::string secret = dir_ / "secret";
  std::filesystem::create_symlink("../secret", dir_ / "model/up");
  std::filesystem::create_symlink(secret, dir_ / "model/absolute");
  std::filesystem::create_directory_symlink("..", dir_ / "model/parent");
  for (const std::string& name : {std::string("../secret"), secret, std::string("sub/../../secret"),
                                  std::string("up"), std::string("absolute")}) {
    EXPECT_THAT(OpenBeneath(folder_, name), HasReason(Reason::kExternalDataPath)) << name;
  }
  EXPECT_FALSE(OpenBeneath(folder_, "parent/secret").ok());
}

TEST_F(OpenBeneathTest, AFileThatIsNotThereIsMissing) {
  EXPECT_THAT(OpenBeneath(folder_, "nothing"), HasReason(Reason::kExternalDataMissing));
}

}  // namespace
}  // namespace quotient::client
