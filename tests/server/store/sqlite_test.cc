// What only a database on a disk can promise, and what can go wrong with its file.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

using testing::BytesOf;
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

// What version 0.2 wrote.
constexpr char kVersion1[] = R"sql(
CREATE TABLE job (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  action_key TEXT NOT NULL,
  lease_epoch INTEGER NOT NULL,
  record BLOB NOT NULL
) STRICT;
CREATE INDEX job_by_state ON job (state, number);
CREATE INDEX job_by_action_key ON job (action_key, number);
CREATE TABLE job_lease (
  job_id TEXT PRIMARY KEY REFERENCES job (id),
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE job_transition (
  job_id TEXT NOT NULL REFERENCES job (id),
  sequence INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (job_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE submission (
  request_id TEXT PRIMARY KEY,
  payload TEXT NOT NULL,
  job_id TEXT NOT NULL REFERENCES job (id),
  create_ms INTEGER NOT NULL,
  withdrawn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX submission_by_job ON submission (job_id);
CREATE INDEX submission_by_time ON submission (create_ms);
PRAGMA user_version = 1;
)sql";

void AddJobOfVersion1(Database& database, const jobs::Job& job) {
  v1::Job record = jobs::ToProto(job, std::nullopt);
  record.clear_use_time();
  record.clear_client();
  record.clear_policy();
  const std::string bytes = record.SerializeAsString();
  ASSERT_OK(database.Run(
      "INSERT INTO job (id, state, action_key, lease_epoch, record) VALUES (?, ?, 'key', 1, ?)",
      {job.id, jobs::JobStateName(job.state), Bytes{bytes}}));
}

TEST(SqliteTest, ADatabaseOfAnOlderVersionIsTakenOver) {
  TempDir dir;
  FakeClock clock;
  {
    ASSERT_OK_AND_ASSIGN(const auto database,
                         Database::Open(dir / "jobs.db", Database::Mode::kReadWrite));
    ASSERT_OK(database->Execute(kVersion1));
    jobs::Job done{.id = "done",
                   .state = jobs::JobState::kSucceeded,
                   .sequence = 3,
                   .create_ms = 100,
                   .end_ms = 200};
    done.spec.model.graph = BlobId::Of("model");
    done.result = jobs::JobResult{.model = BlobId::Of("made"),
                                  .report_json = BlobId::Of("{}"),
                                  .report_html = BlobId::Of("<>")};
    AddJobOfVersion1(*database, done);
    jobs::Job waiting{.id = "waiting", .sequence = 1, .create_ms = 150};
    waiting.spec.model.graph = BlobId::Of("other");
    AddJobOfVersion1(*database, waiting);
  }
  const int64_t opened_ms = clock.UnixMs();
  for (int opened = 0; opened < 2; ++opened) {
    clock.AdvanceMs(int64_t{1000} * opened);
    ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
    EXPECT_EQ((*store->Get("done"))->use_ms, opened_ms) << "nothing is old at once";
    EXPECT_EQ(*store->Unused(opened_ms, 5), std::vector<std::string>{});
    EXPECT_EQ(*store->Unused(opened_ms + 1, 5), std::vector<std::string>{"done"});
    for (const char* blob : {"model", "made", "{}", "<>", "other"}) {
      EXPECT_TRUE(*store->Refers(BlobId::Of(blob))) << blob;
    }
    ASSERT_OK(store->Write([&](jobs::JobTransaction& transaction) -> absl::Status {
      QUOTIENT_ASSIGN_OR_RETURN(const auto heads, transaction.QueueHeads());
      EXPECT_EQ(heads, (std::vector<jobs::QueueHead>{{"", "waiting", 150}}));
      QUOTIENT_ASSIGN_OR_RETURN(const auto found, transaction.FindByActionKey(""));
      EXPECT_EQ(found.has_value() ? found->id : "none", "done");
      return absl::OkStatus();
    }));
    EXPECT_EQ(BytesOf(*store, ""), 5 + 4 + 2 + 2 + 5) << "of no known client";
  }
}

// What version 3 has besides, which wrote the same records.
constexpr char kSinceVersion1[] = R"sql(
CREATE TABLE job_index (
  number INTEGER PRIMARY KEY REFERENCES job (number),
  state TEXT NOT NULL,
  action_key TEXT NOT NULL,
  reusable INTEGER NOT NULL,
  joinable INTEGER NOT NULL,
  client TEXT NOT NULL,
  rank INTEGER NOT NULL,
  graph TEXT NOT NULL,
  create_ms INTEGER NOT NULL,
  start_by_ms INTEGER NOT NULL,
  use_ms INTEGER NOT NULL
) STRICT;
DROP INDEX job_by_state;
DROP INDEX job_by_action_key;
CREATE INDEX job_by_state ON job_index (state, number);
CREATE INDEX job_by_action_key ON job_index (action_key, reusable, number);
CREATE INDEX job_queue ON job_index (client, rank, number) WHERE state = 'QUEUED';
CREATE INDEX job_overdue ON job_index (start_by_ms) WHERE start_by_ms > 0;
CREATE INDEX job_by_use ON job_index (use_ms) WHERE use_ms > 0;
CREATE INDEX job_by_client ON job_index (client, number);
CREATE INDEX job_by_graph ON job_index (graph, number);
CREATE TABLE job_blob (
  sha256 TEXT NOT NULL,
  job_id TEXT NOT NULL REFERENCES job (id),
  PRIMARY KEY (sha256, job_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_blob_by_job ON job_blob (job_id);
ALTER TABLE submission ADD COLUMN takes_early INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = 3;
)sql";

void AddJobOfVersion3(Database& database, const jobs::Job& job) {
  const std::string bytes = jobs::ToProto(job, std::nullopt).SerializeAsString();
  ASSERT_OK(database.Run(
      "INSERT INTO job (id, state, action_key, lease_epoch, record) VALUES (?, '', '', 0, ?)",
      {job.id, Bytes{bytes}}));
  ASSERT_OK(database.Run(
      "INSERT INTO job_index VALUES ((SELECT number FROM job WHERE id = ?), ?, '', 0, 0,"
      " ?, 0, '', 1, 0, 0)",
      {job.id, jobs::JobStateName(job.state), job.client}));
  for (const BlobId& blob : jobs::BlobsOf(job)) {
    const std::string sha256 = blob.digest.Hex();
    ASSERT_OK(database.Run("INSERT OR IGNORE INTO job_blob VALUES (?, ?)", {sha256, job.id}));
  }
}

jobs::Job JobOf(const std::string& id, const std::string& client, absl::string_view model) {
  jobs::Job job{.id = id, .client = client, .sequence = 1, .create_ms = 1};
  job.spec.model.graph = BlobId::Of(model);
  return job;
}

TEST(SqliteTest, WhatIsStoredForClientsIsCountedInADatabaseOfVersion3) {
  TempDir dir;
  FakeClock clock;
  {
    ASSERT_OK_AND_ASSIGN(const auto database,
                         Database::Open(dir / "jobs.db", Database::Mode::kReadWrite));
    ASSERT_OK(database->Execute(kVersion1));
    ASSERT_OK(database->Execute(kSinceVersion1));
    AddJobOfVersion3(*database, JobOf("a1", "a", "shared"));
    jobs::Job done = JobOf("a2", "a", "shared");
    done.state = jobs::JobState::kSucceeded;
    done.result = jobs::JobResult{.model = BlobId::Of("made"),
                                  .report_json = BlobId::Of("{}"),
                                  .report_html = BlobId::Of("{}")};
    AddJobOfVersion3(*database, done);
    AddJobOfVersion3(*database, JobOf("b1", "b", "shared"));
    AddJobOfVersion3(*database, JobOf("damaged", "b", "nobody else's"));
    AddJobOfVersion3(*database, JobOf("damaged, too", "c", "shared"));
    ASSERT_OK(
        database->Run("UPDATE job SET record = ? WHERE id LIKE 'damaged%'", {Bytes{"damaged"}}));
  }
  for (int opened = 0; opened < 2; ++opened) {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
    EXPECT_EQ(BytesOf(*store, "a"), 6 + 4 + 2);
    EXPECT_EQ(BytesOf(*store, "b"), 6) << "the size of the other file is not known";
    EXPECT_EQ(BytesOf(*store, "c"), 6);
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  for (const auto& [id, left_of_a] :
       {std::pair("a1", 12), std::pair("damaged", 12), std::pair("damaged, too", 12),
        std::pair("b1", 12), std::pair("a2", 0)}) {
    ASSERT_OK(store->Write([&](jobs::JobTransaction& write) { return write.Remove(id); }));
    EXPECT_EQ(BytesOf(*store, "a"), left_of_a) << id;
  }
  EXPECT_EQ(BytesOf(*store, "b"), 0);
  EXPECT_EQ(BytesOf(*store, "c"), 0);
}

TEST(SqliteTest, ARecordThatCannotBeReadDoesNotKeepTheOthersFromBeingTakenOver) {
  TempDir dir;
  FakeClock clock;
  {
    ASSERT_OK_AND_ASSIGN(const auto database,
                         Database::Open(dir / "jobs.db", Database::Mode::kReadWrite));
    ASSERT_OK(database->Execute(kVersion1));
    ASSERT_OK(
        database->Run("INSERT INTO job (id, state, action_key, lease_epoch, record)"
                      " VALUES ('bad', 'QUEUED', 'key', 1, ?)",
                      {Bytes{"no record"}}));
    for (int i = 0; i < 450; ++i) {
      jobs::Job job{.id = absl::StrCat("j", i), .sequence = 1, .create_ms = i};
      job.spec.model.graph = BlobId::Of("model");
      AddJobOfVersion1(*database, job);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  ASSERT_OK(store->Write([&](jobs::JobTransaction& transaction) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(const int queued, transaction.CountQueued());
    EXPECT_EQ(queued, 450);
    return absl::OkStatus();
  }));
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
