#include "server/store/disk/run_record.h"

#include <fstream>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using Kind = jobs::LastEnd::Kind;

class RunRecordTest : public ::testing::Test {
 protected:
  std::unique_ptr<RunRecord> Begin() {
    auto record = RunRecord::Begin(path_, "boot-1");
    EXPECT_OK(record);
    return *std::move(record);
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "RUN";
};

TEST_F(RunRecordTest, WithoutAWordTheEndIsUnknown) {
  EXPECT_EQ(RunRecord::Read(path_, "boot-1").kind, Kind::kUnknown);
  std::ofstream(path_) << "something else\n";
  EXPECT_EQ(RunRecord::Read(path_, "boot-1").kind, Kind::kUnknown);
  Begin();
  EXPECT_EQ(RunRecord::Read(path_, "boot-1").kind, Kind::kUnknown);
}

TEST_F(RunRecordTest, AProcessThatWasToldToEndSaysSo) {
  ASSERT_OK(Begin()->NoteTold());
  EXPECT_EQ(RunRecord::Read(path_, "boot-1").kind, Kind::kTold);
  Begin();
  EXPECT_EQ(RunRecord::Read(path_, "boot-1").kind, Kind::kUnknown);
}

TEST_F(RunRecordTest, AnotherBootIsARestart) {
  Begin();
  EXPECT_EQ(RunRecord::Read(path_, "boot-2").kind, Kind::kRestart);
}

TEST(BootIdTest, StaysTheSame) {
  EXPECT_NE(BootId(), "");
  EXPECT_EQ(BootId(), BootId());
}

}  // namespace
}  // namespace quotient::store
