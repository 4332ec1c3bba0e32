#include "core/kernels/cuda/code_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/base/digest.h"
#include "core/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::cuda {
namespace {

namespace fs = std::filesystem;
using ::quotient::testing::TempDir;
using ::testing::Optional;

class CodeCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<CodeCache> Open(int64_t most_bytes = 1 << 20) {
    return OpenCodeCache(folder_, most_bytes);
  }
  std::string PathOf(const std::string& key) const { return folder_ + "/" + Digest::Of(key).Hex(); }
  void SetContent(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  void SetAge(const std::string& key, int hours) {
    fs::last_write_time(PathOf(key), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  TempDir dir_;
  const std::string folder_ = dir_ / "made/if missing";
};

TEST_F(CodeCacheTest, GivesBackWhatWasAdded) {
  const std::string bytes("\0machine code\n\xff", 15);
  Open()->Add("key", bytes);
  const auto cache = Open();
  EXPECT_THAT(cache->Find("key"), Optional(bytes));
  EXPECT_EQ(cache->Find("other"), std::nullopt);
  cache->Add("key", "");
  EXPECT_THAT(cache->Find("key"), Optional(std::string()));
}

TEST_F(CodeCacheTest, DamagedEntriesAreNoneAndReplaced) {
  const auto cache = Open();
  cache->Add("key", "bytes");
  ASSERT_OK_AND_ASSIGN(const std::string good, os::ReadFile(PathOf("key")));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string flipped = good;
    flipped[i] ^= 1;
    SetContent(PathOf("key"), flipped);
    EXPECT_EQ(cache->Find("key"), std::nullopt) << "byte " << i;
    SetContent(PathOf("key"), good.substr(0, i));
    EXPECT_EQ(cache->Find("key"), std::nullopt) << "the first " << i;
  }
  SetContent(PathOf("key"), good + "x");
  EXPECT_EQ(cache->Find("key"), std::nullopt);
  cache->Add("key", "bytes");
  EXPECT_THAT(cache->Find("key"), Optional(std::string("bytes")));
}

TEST_F(CodeCacheTest, EntriesOfOtherKeysAreNone) {
  const auto cache = Open();
  cache->Add("key", "bytes");
  fs::copy(PathOf("key"), PathOf("other"));
  EXPECT_EQ(cache->Find("other"), std::nullopt);
}

TEST_F(CodeCacheTest, ThoseUsedLongAgoGoWhenItIsOpened) {
  const std::string bytes(1000, 'x');
  for (const char* key : {"a", "b", "c", "d"}) Open()->Add(key, bytes);
  SetAge("a", 4);
  SetAge("b", 3);
  SetAge("c", 2);
  SetAge("d", 1);
  SetContent(folder_ + "/notes.txt", "of somebody else");
  SetContent(PathOf("a") + ".killed.tmp", "half");
  fs::last_write_time(PathOf("a") + ".killed.tmp", fs::last_write_time(PathOf("a")));

  EXPECT_THAT(Open()->Find("a"), Optional(bytes));  // all fit; now it is the one used last
  const auto cache = Open(2500);
  EXPECT_THAT(cache->Find("a"), Optional(bytes));
  EXPECT_EQ(cache->Find("b"), std::nullopt);
  EXPECT_EQ(cache->Find("c"), std::nullopt);
  EXPECT_THAT(cache->Find("d"), Optional(bytes));
  EXPECT_FALSE(fs::exists(PathOf("a") + ".killed.tmp"));
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

TEST_F(CodeCacheTest, WhereNothingCanBeWrittenItIsEmpty) {
  SetContent(dir_ / "file", "in the way");
  for (const std::string& folder :
       {dir_ / "file", dir_ / "file/below", std::string("/proc/none")}) {
    const auto cache = OpenCodeCache(folder);
    cache->Add("key", "bytes");
    cache->Add("key", "bytes");
    EXPECT_EQ(cache->Find("key"), std::nullopt) << folder;
  }
  const auto cache = Open();
  fs::create_directory(PathOf("key"));
  cache->Add("key", "bytes");
  EXPECT_EQ(cache->Find("key"), std::nullopt);
}

TEST_F(CodeCacheTest, ServesSeveralProcesses) {
  const auto key = [](int i) { return "key " + std::to_string(i); };
  const auto bytes = [](int i) { return std::string(5000 + i, static_cast<char>('a' + i)); };
  constexpr int kKeys = 20;
  // Whether all that is found is whole.
  const auto work = [&] {
    bool right = true;
    for (int round = 0; round < 5; ++round) {
      const auto cache = Open();
      for (int i = 0; i < kKeys; ++i) {
        const std::optional<std::string> found = cache->Find(key(i));
        right &= !found.has_value() || *found == bytes(i);
        cache->Add(key(i), bytes(i));
      }
    }
    return right;
  };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(work() ? 0 : 1);
  EXPECT_TRUE(work());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto cache = Open();
  for (int i = 0; i < kKeys; ++i) EXPECT_THAT(cache->Find(key(i)), Optional(bytes(i)));
}

}  // namespace
}  // namespace quotient::kernels::cuda
