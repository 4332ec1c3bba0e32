#include "core/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/os/atomic_file.h"
#include "core/os/memory.h"
#include "core/os/random_id.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::os {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::TempDir;
using ::testing::HasSubstr;

int FilesIn(const TempDir& dir) {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(dir.path()), {}));
}

TEST(FilesTest, ReadsAPartOfAFile) {
  TempDir dir;
  std::ofstream(dir / "f") << "0123456789";
  ASSERT_OK_AND_ASSIGN(const Fd file, OpenFile(dir / "f", O_RDONLY));
  ASSERT_OK_AND_ASSIGN(const std::string part, ReadFullyAt(file, 3, 4, "f"));
  EXPECT_EQ(part, "3456");
  ASSERT_OK_AND_ASSIGN(const std::string nothing, ReadFullyAt(file, 10, 0, "f"));
  EXPECT_EQ(nothing, "");
  EXPECT_THAT(ReadFullyAt(file, 8, 3, "f"),
              HasReason(Reason::kStorageDown, HasSubstr("the file is shorter")));
}

TEST(FilesTest, WhatWasReleasedIsReadAgain) {
  TempDir dir;
  std::ofstream(dir / "f") << std::string(10000, 'x');
  ASSERT_OK_AND_ASSIGN(const Fd file, OpenFile(dir / "f", O_RDONLY));
  ASSERT_OK_AND_ASSIGN(const auto mapped, MappedFile::Map(file, "f"));
  EXPECT_EQ(mapped->bytes(), std::string(10000, 'x'));
  mapped->Release();
  EXPECT_EQ(mapped->bytes(), std::string(10000, 'x'));
}

TEST(FilesTest, AllMappedFilesAreReleasedAtOnce) {
  constexpr size_t kLarge = size_t{1} << 26;
  TempDir dir;
  std::vector<std::unique_ptr<MappedFile>> mapped;
  for (const char* const name : {"a", "b", "empty"}) {
    std::ofstream(dir / name) << std::string(name == std::string("empty") ? 0 : kLarge, name[0]);
    ASSERT_OK_AND_ASSIGN(const Fd file, OpenFile(dir / name, O_RDONLY));
    ASSERT_OK_AND_ASSIGN(mapped.emplace_back(), MappedFile::Map(file, name));
  }
  ReturnFreedMemory();
  for (const auto& file : mapped) EXPECT_EQ(std::ranges::count(file->bytes(), '?'), 0);
  const int64_t before = ResidentBytes();
  ReleaseMappedFiles();
  EXPECT_LT(ResidentBytes(), before - static_cast<int64_t>(kLarge));
  EXPECT_EQ(mapped[0]->bytes(), std::string(kLarge, 'a'));
  mapped.erase(mapped.begin());
  ReleaseMappedFiles();
  EXPECT_EQ(mapped[0]->bytes(), std::string(kLarge, 'b'));
  EXPECT_EQ(mapped[1]->bytes(), "");
}

TEST(AtomicFileTest, AppearsWhenCommitted) {
  TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto file, AtomicFile::Create(dir / "f"));
  ASSERT_OK(file->Append("hello "));
  ASSERT_OK(file->Append("world"));
  EXPECT_FALSE(std::filesystem::exists(dir / "f"));
  ASSERT_OK(file->Commit());
  ASSERT_OK_AND_ASSIGN(const std::string content, ReadFile(dir / "f"));
  EXPECT_EQ(content, "hello world");
  EXPECT_EQ(FilesIn(dir), 1);
}

TEST(AtomicFileTest, LeavesNothingWhenDropped) {
  TempDir dir;
  std::ofstream(dir / "f") << "old";
  {
    ASSERT_OK_AND_ASSIGN(const auto file, AtomicFile::Create(dir / "f"));
    ASSERT_OK(file->Append("new"));
    ASSERT_OK(file->Seal());
  }
  ASSERT_OK_AND_ASSIGN(const std::string content, ReadFile(dir / "f"));
  EXPECT_EQ(content, "old");
  EXPECT_EQ(FilesIn(dir), 1);
}

TEST(AtomicFileTest, SaysAtOnceThatAFolderIsMissing) {
  TempDir dir;
  EXPECT_THAT(AtomicFile::Create(dir / "no/f"),
              HasReason(Reason::kStorageDown, HasSubstr("/no/f: No such file or directory")));
}

TEST(AtomicFileTest, OnlyRegularFilesAreReplaced) {
  TempDir dir;
  for (const std::string& path : {dir.path(), dir / "f/", std::string("/dev/null")}) {
    EXPECT_THAT(AtomicFile::Create(path), HasReason(Reason::kStorageDown, HasSubstr(path)));
  }
  EXPECT_EQ(FilesIn(dir), 0);
}

TEST(FilesTest, DirectoriesAreMadeWithTheirParents) {
  TempDir dir;
  ASSERT_OK(MakeDirectories(dir / "a/b/c"));
  ASSERT_OK(MakeDirectories(dir / "a/b/c"));
  EXPECT_TRUE(std::filesystem::is_directory(dir / "a/b/c"));
}

TEST(FilesTest, OnlyRegularFilesAreMapped) {
  TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  ASSERT_OK_AND_ASSIGN(const Fd fifo, OpenFile(dir / "fifo", O_RDONLY));  // Does not wait.
  EXPECT_THAT(MappedFile::Map(fifo, "fifo"), HasReason(Reason::kStorageDown));
  ASSERT_OK_AND_ASSIGN(const Fd zero, OpenFile("/dev/zero", O_RDONLY));
  EXPECT_THAT(MappedFile::Map(zero, "zero"), HasReason(Reason::kStorageDown));
}

TEST(FilesTest, AFifoThatNobodyReadsIsNotOpenedForWriting) {
  TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(OpenFile(dir / "fifo", O_WRONLY), HasReason(Reason::kStorageDown, HasSubstr("fifo")));
}

TEST(FilesTest, SamePlaceNeedsNoFile) {
  TempDir dir;
  ASSERT_OK(MakeDirectories(dir / "a/b"));
  EXPECT_TRUE(SamePlace(dir / "a/missing", dir / "a/b/../missing"));
  EXPECT_FALSE(SamePlace(dir / "a/missing", dir / "a/b/missing"));
  EXPECT_FALSE(SamePlace(dir / "a/missing", dir / "a/other"));
  EXPECT_FALSE(SamePlace(dir / "nowhere/f", dir / "nowhere/f/../f"));
  ASSERT_EQ(symlink("b", (dir / "a/link").c_str()), 0);
  EXPECT_TRUE(SamePlace(dir / "a/link", dir / "a/b"));
}

TEST(FilesTest, SameFileLooksAtWherePathsLead) {
  TempDir dir;
  ASSERT_OK(MakeDirectories(dir / "a/b"));
  EXPECT_TRUE(SameFile(dir / "a", dir / "a/b/.."));
  EXPECT_FALSE(SameFile(dir / "a", dir / "a/b"));
  EXPECT_FALSE(SameFile(dir / "missing", dir / "missing"));
}

TEST(FilesTest, PathsAreTakenApart) {
  EXPECT_EQ(DirectoryOf("a/b"), "a");
  EXPECT_EQ(DirectoryOf("b"), ".");
  EXPECT_EQ(DirectoryOf("/b"), "/");
  EXPECT_EQ(BaseName("a/b"), "b");
  EXPECT_EQ(BaseName("b"), "b");
}

TEST(RandomIdTest, IsLongAndNew) {
  EXPECT_EQ(RandomId().size(), 20u);
  EXPECT_NE(RandomId(), RandomId());
}

}  // namespace
}  // namespace quotient::os
