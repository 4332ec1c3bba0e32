#include "server/runner/file_rights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/os/files.h"
#include "tests/server/runner/in_child.h"
#include "tests/support/temp_dir.h"

namespace quotient::runner {
namespace {

// A folder with another one, "own", and files.
class FileRightsTest : public ::testing::Test {
 protected:
  FileRightsTest() {
    std::filesystem::create_directory(dir_ / "own");
    for (const char* name : {"input", "shared", "secret"}) std::ofstream(dir_ / name) << "bytes";
    rights_ = {.read = {"/usr", "/lib", "/lib64", "/bin", "/proc", dir_ / "input", "/nowhere"},
               .write = {dir_ / "shared"},
               .own = {dir_ / "own"}};
  }

  // What `body` returns under the rights, and if nothing is restricted.
  int Restricted(const std::function<int()>& body) const {
    const int returned = InChildAfter([this] { return RestrictFiles(rights_).ok(); }, body);
    if (returned == 77) ADD_FAILURE() << "the kernel has no Landlock here";
    return returned;
  }

  int OpenRefused(const std::string& name, int flags) const {
    return Refused(open((dir_ / name).c_str(), flags, 0600));
  }

  testing::TempDir dir_;
  FileRights rights_;
};

TEST_F(FileRightsTest, WhatIsNotNamedCannotBeUsed) {
  const auto use = [this] {
    const std::string secret = dir_ / "secret";
    return OpenRefused("secret", O_RDONLY) | OpenRefused("secret", O_RDWR) << 1 |
           Refused(truncate(secret.c_str(), 1)) << 2 | OpenRefused("new", O_WRONLY | O_CREAT) << 3 |
           Refused(mkdir((dir_ / "folder").c_str(), 0700)) << 4 |
           Refused(symlink("secret", (dir_ / "link").c_str())) << 5 |
           Refused(rename((dir_ / "own").c_str(), (dir_ / "mine").c_str())) << 6 |
           Refused(unlink(secret.c_str())) << 7;
  };
  EXPECT_EQ(Restricted(use), 255);
  EXPECT_EQ(InChild(use), 0);
}

TEST_F(FileRightsTest, WhatMayBeReadCannotBeChanged) {
  const auto use = [this] {
    const std::string input = dir_ / "input";
    return OpenRefused("input", O_RDONLY) | OpenRefused("input", O_WRONLY) << 1 |
           Refused(truncate(input.c_str(), 1)) << 2 |
           Refused(rename(input.c_str(), (dir_ / "own/input").c_str())) << 3;
  };
  EXPECT_EQ(Restricted(use), 14);
  EXPECT_EQ(InChild(use), 0);
}

TEST_F(FileRightsTest, WhatMayBeWrittenCannotBeReplaced) {
  const auto use = [this] {
    const std::string shared = dir_ / "shared", mine = dir_ / "own/mine";
    const os::Fd file(open(shared.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600));
    const bool is_written = file.valid() && flock(file.get(), LOCK_EX) == 0 &&
                            write(file.get(), "x", 1) == 1 && ftruncate(file.get(), 1) == 0;
    std::ofstream(mine) << "other bytes";
    return (is_written ? 0 : 1) | Refused(rename(mine.c_str(), shared.c_str())) << 1 |
           Refused(unlink(shared.c_str())) << 2;
  };
  EXPECT_EQ(Restricted(use), 6);
  EXPECT_EQ(InChild(use), 0);
}

TEST_F(FileRightsTest, InItsOwnFolderAProcessDoesWhatItLikes) {
  EXPECT_EQ(Restricted([this] {
              const std::string a = dir_ / "own/a", b = dir_ / "own/b", deep = dir_ / "own/deep";
              std::ofstream(a) << "bytes";
              const bool is_moved = rename(a.c_str(), b.c_str()) == 0 &&
                                    truncate(b.c_str(), 2) == 0 && mkdir(deep.c_str(), 0700) == 0;
              std::ofstream(deep + "/file") << "x";
              std::error_code failure;
              std::filesystem::remove_all(deep, failure);
              return is_moved && !failure && unlink(b.c_str()) == 0 ? 0 : 1;
            }),
            0);
}

TEST_F(FileRightsTest, AForeignFileGetsNoNameInTheOwnFolder) {
  const auto use = [this] {
    return Refused(link((dir_ / "input").c_str(), (dir_ / "own/name").c_str()));
  };
  EXPECT_EQ(Restricted(use), 1);
  EXPECT_EQ(InChild(use), 0);
}

TEST_F(FileRightsTest, ProgramsThatAreStartedAreRestricted) {
  const std::string script = absl::StrCat("cat ", dir_ / "secret", " >/dev/null 2>&1");
  const auto start = [&script] {
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    return 99;
  };
  rights_.write.emplace_back("/dev/null");
  EXPECT_EQ(Restricted(start), 1);
  EXPECT_EQ(InChild(start), 0);
}

TEST_F(FileRightsTest, OtherProcessesGetNoSignalsAndShowNothing) {
  const pid_t parent = getpid();
  const auto use = [parent] {
    const std::string memory = absl::StrCat("/proc/", parent, "/mem");
    return Refused(kill(parent, 0)) | Refused(open(memory.c_str(), O_RDONLY)) << 1 |
           Refused(kill(getpid(), 0)) << 2;
  };
  EXPECT_EQ(Restricted(use), 3);
  EXPECT_EQ(InChild(use), 0);
}

TEST_F(FileRightsTest, WhatIsOpenStaysOpen) {
  const os::Fd secret(open((dir_ / "secret").c_str(), O_RDWR));
  EXPECT_EQ(Restricted([&] { return write(secret.get(), "x", 1) == 1 ? 0 : 1; }), 0);
}

}  // namespace
}  // namespace quotient::runner
