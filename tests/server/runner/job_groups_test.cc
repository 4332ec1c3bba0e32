#include "server/runner/job_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/os/files.h"
#include "tests/server/runner/in_child.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::runner {
namespace {

using ::quotient::testing::StatusIs;
using ::quotient::testing::TempDir;
using ::testing::HasSubstr;

// A folder that looks like a control group which was given to this process to divide.
class JobGroupsTest : public ::testing::Test {
 protected:
  JobGroupsTest() { Write("cgroup.controllers", "cpu memory pids"); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text << "\n";
  }
  std::string Read(const std::string& name) const {
    const auto text = os::ReadFile(dir_ / name);
    return text.ok() ? *text : "nothing";
  }
  // Root has to be told. False if the file system cannot do that.
  bool Delegate() const {
    return geteuid() != 0 || setxattr(dir_.path().c_str(), "trusted.delegate", "1", 1, 0) == 0;
  }
  // The only folder of a job.
  std::string Job() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (entry.path().filename().string().starts_with("job-")) return entry.path().filename();
    }
    return "nothing";
  }

  TempDir dir_;
};

TEST_F(JobGroupsTest, EachProcessHasAGroupWithLimits) {
  if (!Delegate()) GTEST_SKIP() << "the file system has no extended attributes";
  ASSERT_OK_AND_ASSIGN(const auto groups,
                       JobGroups::Create(dir_.path(), {.memory_bytes = 1 << 30, .processes = 100}));
  EXPECT_EQ(Read("quotientd/cgroup.procs"), "0") << "the server is moved first";
  EXPECT_EQ(Read("cgroup.subtree_control"), "+memory +pids");
  std::string job;
  {
    ASSERT_OK_AND_ASSIGN(const auto group, groups->NewGroup());
    ASSERT_OK(group->Add(4711));
    job = Job();
    EXPECT_EQ(Read(job + "/memory.max"), absl::StrCat(1 << 30));
    EXPECT_EQ(Read(job + "/pids.max"), "100");
    EXPECT_EQ(Read(job + "/cgroup.procs"), "4711");
    EXPECT_FALSE(group->HasRunOutOfMemory());
    Write(job + "/memory.events", "low 0\noom 1\noom_kill 2");
    EXPECT_TRUE(group->HasRunOutOfMemory());
  }
  EXPECT_EQ(Read(job + "/cgroup.kill"), "1");
}

TEST_F(JobGroupsTest, GroupsThatAProcessHasLeftAreRemoved) {
  if (!Delegate()) GTEST_SKIP() << "the file system has no extended attributes";
  std::filesystem::create_directory(dir_ / "job-left");
  std::filesystem::create_directory(dir_ / "another");
  ASSERT_OK(JobGroups::Create(dir_.path(), {}));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "job-left"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "another"));
}

TEST_F(JobGroupsTest, WithoutAControllerThereAreNone) {
  Write("cgroup.controllers", "cpu pids");
  EXPECT_THAT(JobGroups::Create(dir_.path(), {}), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(JobGroups::Create("", {}), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "quotientd"));
}

TEST_F(JobGroupsTest, AGroupThatCannotBeDividedStaysAsItWas) {
  if (!Delegate()) GTEST_SKIP() << "the file system has no extended attributes";
  std::filesystem::create_directory(dir_ / "cgroup.subtree_control");  // Cannot be written.
  EXPECT_THAT(JobGroups::Create(dir_.path(), {}), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(Read("cgroup.procs"), "0") << "the server is back";
}

TEST_F(JobGroupsTest, RootLeavesGroupsOfOthersAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root could write them";
  EXPECT_THAT(JobGroups::Create(dir_.path(), {}), StatusIs(absl::StatusCode::kUnavailable));
}

// The kernel's own groups, below one that is made for the test, with any controller that is there.
class RealGroupsTest : public ::testing::Test {
 protected:
  RealGroupsTest() {
    is_mounted_ = mount("none", root_.path().c_str(), "cgroup2", 0, nullptr) == 0;
    if (!is_mounted_) return;
    std::ifstream(root_ / "cgroup.controllers") >> controller_;
    std::ofstream(root_ / "cgroup.subtree_control") << "+" << controller_;
    std::filesystem::create_directory(folder_);
  }
  ~RealGroupsTest() override {
    if (!is_mounted_) return;
    for (const std::string& group : {folder_ + "/quotientd", folder_}) rmdir(group.c_str());
    umount(root_.path().c_str());
  }

  TempDir root_;
  const std::string folder_ = root_ / absl::StrCat("quotient-test-", getpid());
  bool is_mounted_ = false;
  std::string controller_;  // "" if there is none.
};

TEST_F(RealGroupsTest, AGroupEndsWithAllOfItsProcesses) {
  if (controller_.empty()) GTEST_SKIP() << "no control groups can be made here";
  EXPECT_EQ(InChild([this] {
              std::ofstream(folder_ + "/cgroup.procs") << getpid() << std::flush;
              if (setxattr(folder_.c_str(), "trusted.delegate", "1", 1, 0) != 0) return 1;
              auto groups = JobGroups::Create(folder_, {}, {controller_});
              if (!groups.ok()) return 2;
              auto group = (*groups)->NewGroup();
              const pid_t job = fork();
              if (job == 0) {
                setsid();  // It leaves the group of processes, but not that of control.
                pause();
              }
              if (!group.ok() || !(*group)->Add(job).ok()) return 3;
              group->reset();
              int status = 0;
              waitpid(job, &status, 0);
              if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) return 4;
              // Its folder goes with the next group at the latest.
              { const auto next = (*groups)->NewGroup(); }
              for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
                if (entry.path().filename().string().starts_with("job-")) return 5;
              }
              std::ofstream(root_ / "cgroup.procs") << getpid() << std::flush;
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace quotient::runner
