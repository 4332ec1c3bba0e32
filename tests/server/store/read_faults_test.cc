#include "server/store/disk/read_faults.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

// A mapped file whose second half the disk cannot read, as far as a test can have that: the file is
// cut off there.
class HalfLost {
 public:
  HalfLost() {
    std::ofstream(path_) << std::string(2 * kHalf, 'x');
    const os::Fd fd = *os::OpenFile(path_, O_RDONLY);
    file_ = *os::MappedFile::Map(fd, path_);
    EXPECT_EQ(truncate(path_.c_str(), kHalf), 0);
  }

  static constexpr size_t kHalf = 1 << 16;
  absl::string_view bytes() const { return file_->bytes(); }

 private:
  const testing::TempDir dir_;
  const std::string path_ = dir_ / "file";
  std::unique_ptr<os::MappedFile> file_;
};

int Sum(absl::string_view bytes) { return std::accumulate(bytes.begin(), bytes.end(), 0); }

TEST(ReadFaultsTest, WhatCannotBeReadIsZerosAndRemembered) {
  const HalfLost file;
  const WatchedRange range(file.bytes());
  EXPECT_EQ(Sum(file.bytes().substr(0, HalfLost::kHalf)), 'x' * static_cast<int>(HalfLost::kHalf));
  EXPECT_FALSE(range.failed());
  EXPECT_EQ(Sum(file.bytes().substr(HalfLost::kHalf)), 0);
  EXPECT_TRUE(range.failed());
}

TEST(ReadFaultsTest, EachRangeFailsForItself) {
  const HalfLost first, second;
  const WatchedRange first_range(first.bytes()), second_range(second.bytes());
  EXPECT_EQ(second.bytes().back(), '\0');
  EXPECT_FALSE(first_range.failed());
  EXPECT_TRUE(second_range.failed());
}

TEST(ReadFaultsTest, APlaceThatWasGivenBackHasNotFailed) {
  {
    const HalfLost file;
    const WatchedRange range(file.bytes());
    EXPECT_EQ(file.bytes().back(), '\0');
  }
  const HalfLost file;
  EXPECT_FALSE(WatchedRange(file.bytes()).failed());
}

TEST(ReadFaultsTest, WhatIsNotWatchedEndsTheProcessAsBefore) {
  const HalfLost watched, other;
  const WatchedRange range(watched.bytes());
  const pid_t child = fork();
  if (child == 0) {
    _exit(other.bytes().back());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace quotient::store
