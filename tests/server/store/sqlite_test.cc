// What only a database on a disk can promise, and what can go wrong with its file.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/store/disk/data_directory.h"
#include "server/store/sqlite/database.h"
#include "server/store/sqlite/job_store.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using testing::FakeClock;
using testing::HasReason;
using testing::StatusIs;
using testing::TempDir;

// Writes jobs until it is killed, and tells through the pipe which ones were acknowledged.
[[noreturn]] void WriteForEver(const std::string& path, int pipe) {
  FakeClock clock;
  auto store = OpenSqliteJobStore(path, &clock);
  if (!store.ok()) _exit(1);
  for (unsigned char i = 0;; ++i) {
    jobs::Job job{.id = absl::StrCat("j", static_cast<int>(i))};
    const absl::Status status =
        (*store)->Write([&](jobs::JobTransaction& transaction) { return transaction.Put(job); });
    if (!status.ok() || write(pipe, &i, 1) != 1) _exit(1);
  }
}

TEST(SqliteTest, WhatWasAcknowledgedSurvivesKill) {
  TempDir dir;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) WriteForEver(dir / "jobs.db", pipe_ends[1]);
  unsigned char last = 0;
  while (last < 20) ASSERT_EQ(read(pipe_ends[0], &last, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[1]);
  while (read(pipe_ends[0], &last, 1) == 1) {
  }
  FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  for (int i = 0; i <= last; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto job, store->Get(absl::StrCat("j", i)));
    EXPECT_TRUE(job.has_value()) << i;
  }
}

TEST(SqliteTest, ADatabaseOfANewerVersionIsRefused) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK(OpenSqliteJobStore(dir / "jobs.db", &clock));
  {
    ASSERT_OK_AND_ASSIGN(const auto database,
                         Database::Open(dir / "jobs.db", Database::Mode::kReadWrite));
    ASSERT_OK(database->Execute("PRAGMA user_version = 99"));
  }
  EXPECT_THAT(OpenSqliteJobStore(dir / "jobs.db", &clock),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(SqliteTest, AFileThatIsNoDatabaseIsRefused) {
  TempDir dir;
  std::ofstream(dir / "jobs.db") << std::string(10'000, 'x');
  FakeClock clock;
  EXPECT_THAT(OpenSqliteJobStore(dir / "jobs.db", &clock), HasReason(Reason::kStorageDown));
}

TEST(SqliteTest, AFullDiskIsATypedErrorAndPasses) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const auto database,
                       Database::Open(dir / "t.db", Database::Mode::kReadWrite));
  ASSERT_OK(database->Execute("CREATE TABLE t (x BLOB) STRICT; PRAGMA max_page_count = 4"));
  const std::string big(100'000, 'x');
  EXPECT_THAT(database->Run("INSERT INTO t VALUES (?)", {Bytes{big}}),
              HasReason(Reason::kStorageDown));
  EXPECT_OK(database->Run("INSERT INTO t VALUES (?)", {Bytes{"small"}}));
}

TEST(DataDirectoryTest, BelongsToOneProcessAtATime) {
  TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const auto first, DataDirectory::Open(dir / "data/deep"));
    EXPECT_THAT(DataDirectory::Open(dir / "data/deep"),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_OK(DataDirectory::Open(dir / "data/deep"));
}

}  // namespace
}  // namespace quotient::store
