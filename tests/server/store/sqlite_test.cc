// What only a database on a disk can promise, and what can go wrong with its file.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/jobs/convert.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/ledger.h"
#include "server/store/sqlite/database.h"
#include "server/store/sqlite/job_store.h"
#include "tests/server/support/bytes_of.h"
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

// Of three jobs, one runs and one waits whose record is replaced by what `damage` makes of the job.
// Expects that the third one is run and listed as if there were no other.
void ExpectNoHarm(absl::FunctionRef<std::string(jobs::Job)> damage) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  for (const char* id : {"running", "waiting", "good"}) {
    jobs::Job job{.id = id, .sequence = 1, .create_ms = id[0] == 'g' ? 2 : 1};
    job.spec.model.graph = BlobId::Of("model");
    if (job.id == "running") job.state = jobs::JobState::kRunning;
    ASSERT_OK(store->Write([&](jobs::JobTransaction& transaction) -> absl::Status {
      QUOTIENT_RETURN_IF_ERROR(transaction.Put(job));
      return job.id == "running" ? transaction.PutLease({"running", "me", 0}) : absl::OkStatus();
    }));
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto database,
                         Database::Open(dir / "jobs.db", Database::Mode::kReadWrite));
    for (const char* const id : {"running", "waiting"}) {
      ASSERT_OK_AND_ASSIGN(const auto job, store->Get(id));
      const std::string record = damage(*job);
      ASSERT_OK(database->Run("UPDATE job SET record = ? WHERE id = ?", {Bytes{record}, id}));
    }
  }
  jobs::Ledger ledger(store.get());
  jobs::Dispatch dispatch(&ledger, &clock);
  ASSERT_OK(dispatch.RecoverAll({}));
  ASSERT_OK_AND_ASSIGN(const auto claimed, dispatch.Claim("me"));
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(claimed->job.id, "good");
  std::string listed;
  ASSERT_OK(store->List({.limit = 1}, [&](int64_t /*number*/, const jobs::Job& job) {
    listed += job.id;
    return true;
  }));
  EXPECT_EQ(listed, "good");
}

std::string RecordOf(const jobs::Job& job) {
  return jobs::ToProto(job, std::nullopt).SerializeAsString();
}

TEST(SqliteTest, ARecordThatCannotBeReadKeepsNoOtherJobFromAnything) {
  ExpectNoHarm([](const jobs::Job&) { return std::string("damaged"); });
}

TEST(SqliteTest, ARecordOfAnotherJobKeepsNoOtherJobFromAnything) {
  ExpectNoHarm([](jobs::Job job) {
    job.id = "good";
    return RecordOf(job);
  });
}

TEST(SqliteTest, ARecordInAnotherStateKeepsNoOtherJobFromAnything) {
  ExpectNoHarm([](jobs::Job job) {
    job.state = jobs::JobState::kCancelled;
    return RecordOf(job);
  });
}

TEST(SqliteTest, ARecordWithImpossibleNumbersKeepsNoOtherJobFromAnything) {
  ExpectNoHarm([](jobs::Job job) {
    job.sequence = INT64_MAX;
    return RecordOf(job);
  });
}

TEST(SqliteTest, WhatJobsAreSearchedByIsWrittenOnce) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  jobs::Job job{.id = "j", .action_key = "key", .sequence = 1, .create_ms = 1};
  for (const jobs::JobState state : {jobs::JobState::kQueued, jobs::JobState::kRunning}) {
    job.state = state;
    ASSERT_OK(store->Write([&](jobs::JobTransaction& write) { return write.Put(job); }));
  }
  ASSERT_OK_AND_ASSIGN(const auto database,
                       Database::Open(dir / "jobs.db", Database::Mode::kReadOnly));
  int rows = 0;
  ASSERT_OK(
      database->Run("SELECT job.state, job.action_key, job_index.state, job_index.action_key"
                    " FROM job JOIN job_index USING (number)",
                    {}, [&](const Row& row) {
                      ++rows;
                      EXPECT_EQ(row.Text(0) + row.Text(1), "");
                      EXPECT_EQ(row.Text(2) + row.Text(3), "RUNNINGkey");
                      return absl::OkStatus();
                    }));
  EXPECT_EQ(rows, 1);
}

TEST(SqliteTest, AFileThatIsNoDatabaseIsRefused) {
  TempDir dir;
  std::ofstream(dir / "jobs.db") << std::string(10'000, 'x');
  FakeClock clock;
  EXPECT_THAT(OpenSqliteJobStore(dir / "jobs.db", &clock), HasReason(Reason::kStorageDown));
}

TEST(SqliteTest, WhatRemovedJobsLeaveFreeGoesBackToTheDiskInSteps) {
  TempDir dir;
  FakeClock clock;
  const std::string path = dir / "jobs.db";
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(path, &clock));
  const int64_t empty = *store->HeldBytes();
  const auto write_all = [&](absl::FunctionRef<absl::Status(jobs::JobTransaction&, int)> change) {
    ASSERT_OK(store->Write([&](jobs::JobTransaction& write) -> absl::Status {
      for (int i = 0; i < 20; ++i) QUOTIENT_RETURN_IF_ERROR(change(write, i));
      return absl::OkStatus();
    }));
  };
  write_all([](jobs::JobTransaction& write, int i) {
    jobs::Job job{.id = absl::StrCat("j", i), .sequence = 1};
    job.spec.model_name = std::string(200'000, 'm');
    return write.Put(job);
  });
  EXPECT_GE(*store->HeldBytes(), 4'000'000);
  EXPECT_EQ(*store->GiveBack(1 << 20), 0) << "nothing is free";
  write_all([](jobs::JobTransaction& write, int i) { return write.Remove(absl::StrCat("j", i)); });
  EXPECT_LE(*store->HeldBytes(), empty + 50'000);
  EXPECT_GE(std::filesystem::file_size(path), 4'000'000);
  int steps = 0;
  for (int64_t given; (given = *store->GiveBack(1 << 20)) > 0; ++steps) {
    EXPECT_LE(given, 1 << 20);
  }
  EXPECT_GE(steps, 2);
  EXPECT_LE(std::filesystem::file_size(path), 1'500'000) << "some stays for jobs to come";
}

// The quota goes by what jobs take in the file.
TEST(SqliteTest, WhatRowsAreTakenToNeedIsAboutWhatTheyNeed) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  const int64_t empty = *store->HeldBytes();
  for (int files : {0, 3, 1000}) {
    const int64_t before = *store->HeldBytes(), counted = testing::BytesOf(*store, "client");
    ASSERT_OK(store->Write([&](jobs::JobTransaction& write) -> absl::Status {
      for (int i = 0; i < 3000 / (1 + files) + 5; ++i) {
        jobs::Job job{.id = Digest::Of(absl::StrCat(files, " ", i)).Hex().substr(0, 20),
                      .client = "client",
                      .action_key = std::string(64, 'k'),
                      .sequence = 1};
        job.spec.model.graph = BlobId{Digest::Of(job.id), 0};
        for (int k = 0; k < files; ++k) {
          const std::string name = absl::StrCat(job.id, k);
          job.spec.model.external_files[name] = BlobId{Digest::Of(name), 0};
        }
        QUOTIENT_RETURN_IF_ERROR(write.Put(job));
        for (int k = 1; k < 4; ++k) {
          QUOTIENT_RETURN_IF_ERROR(write.Append({.job_id = job.id, .sequence = k, .actor = "x"}));
        }
        QUOTIENT_RETURN_IF_ERROR(write.PutSubmission({job.id, std::string(64, 'p'), job.id}));
      }
      return absl::OkStatus();
    }));
    const double share = static_cast<double>(testing::BytesOf(*store, "client") - counted) /
                         static_cast<double>(*store->HeldBytes() - before);
    EXPECT_GE(share, 0.8) << files;
    EXPECT_LE(share, 1.6) << files;
  }
  EXPECT_GT(*store->HeldBytes(), empty);
}

TEST(SqliteTest, SomebodyIsToldOfAWriteThatFailsAndCanWriteMeanwhile) {
  TempDir dir;
  FakeClock clock;
  std::unique_ptr<jobs::JobStore> store;
  int told = 0;
  const auto write = [&store](const absl::Status& status) {
    return store->Write([&](jobs::JobTransaction&) { return status; });
  };
  const auto on_failure = [&] {
    ++told;
    EXPECT_OK(write(absl::OkStatus()));
  };
  auto opened = OpenSqliteJobStore(dir / "jobs.db", &clock, {.on_failure = on_failure});
  ASSERT_OK(opened);
  store = *std::move(opened);
  EXPECT_THAT(write(MakeError(Reason::kStorageDown, "full")), HasReason(Reason::kStorageDown));
  EXPECT_EQ(told, 1);
  EXPECT_THAT(write(MakeError(Reason::kQuotaJobs, "no")), HasReason(Reason::kQuotaJobs));
  EXPECT_EQ(told, 1) << "that is no failure";
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

}  // namespace
}  // namespace quotient::store
