// What is made of databases that earlier versions wrote.

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "server/jobs/convert.h"
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
using testing::TempDir;

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

TEST(OlderDatabasesTest, ADatabaseOfAnOlderVersionIsTakenOver) {
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
      QUOTIENT_ASSIGN_OR_RETURN(const auto heads, transaction.QueueHeads({}));
      EXPECT_EQ(heads, (std::vector<jobs::QueueHead>{{"", "waiting", 150}}));
      QUOTIENT_ASSIGN_OR_RETURN(const auto found, transaction.FindByActionKey(""));
      EXPECT_EQ(found.has_value() ? found->id : "none", "done");
      return absl::OkStatus();
    }));
    const int64_t rows = RowBytes(**store->Get("done")) + RowBytes(**store->Get("waiting"));
    EXPECT_EQ(BytesOf(*store, ""), 5 + 4 + 2 + 2 + 5 + rows) << "of no known client";
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

TEST(OlderDatabasesTest, WhatIsStoredForClientsIsCountedInADatabaseOfVersion3) {
  constexpr int64_t kRowsOfDamaged = 7 + 1024 + 320;  // The word, the job and its file.
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
                                  .report_html = BlobId::Of("<>")};
    AddJobOfVersion3(*database, done);
    AddJobOfVersion3(*database, JobOf("b1", "b", "shared"));
    AddJobOfVersion3(*database, JobOf("damaged", "b", "nobody else's"));
    AddJobOfVersion3(*database, JobOf("damaged, too", "c", "shared"));
    ASSERT_OK(
        database->Run("UPDATE job SET record = ? WHERE id LIKE 'damaged%'", {Bytes{"damaged"}}));
  }
  for (int opened = 0; opened < 2; ++opened) {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
    const auto rows = [&](const char* id) { return RowBytes(**store->Get(id)); };
    EXPECT_EQ(BytesOf(*store, "a"), 6 + 4 + 2 + 2 + rows("a1") + rows("a2"));
    EXPECT_EQ(BytesOf(*store, "b"), 6 + rows("b1") + kRowsOfDamaged) << "no size of the other file";
    EXPECT_EQ(BytesOf(*store, "c"), 6 + kRowsOfDamaged);
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  const int64_t of_a2 = 6 + 4 + 2 + 2 + RowBytes(**store->Get("a2"));
  for (const auto& [id, left_of_a] :
       {std::pair("a1", of_a2), std::pair("damaged", of_a2), std::pair("damaged, too", of_a2),
        std::pair("b1", of_a2), std::pair("a2", int64_t{6 + 4 + 2 + 2})}) {
    ASSERT_OK(store->Write([&](jobs::JobTransaction& write) { return write.Remove(id); }));
    EXPECT_EQ(BytesOf(*store, "a"), left_of_a) << id << ", of the last one its files";
  }
  EXPECT_EQ(BytesOf(*store, "b"), 0);
  EXPECT_EQ(BytesOf(*store, "c"), 0);
}

TEST(OlderDatabasesTest, ARowWithoutItsJobDoesNotKeepADatabaseFromBeingTakenOver) {
  TempDir dir;
  FakeClock clock;
  {
    ASSERT_OK_AND_ASSIGN(const auto database,
                         Database::Open(dir / "jobs.db", Database::Mode::kReadWrite));
    ASSERT_OK(database->Execute(kVersion1));
    ASSERT_OK(database->Execute(kSinceVersion1));
    AddJobOfVersion3(*database, JobOf("a1", "a", "model"));
    ASSERT_OK(database->Execute(
        "PRAGMA foreign_keys = OFF;"
        "INSERT INTO job_index VALUES (99, 'SUCCEEDED', '', 0, 0, 'gone', 0, '', 1, 0, 0)"));
  }
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  EXPECT_EQ(BytesOf(*store, "a"), 5 + RowBytes(**store->Get("a1")));
  EXPECT_EQ(BytesOf(*store, "gone"), 0);
}

// A database of version 1 with jobs that take 4 MB. Returns their ids.
std::vector<std::string> MakeLargeDatabase(const std::string& path) {
  std::vector<std::string> ids;
  auto database = Database::Open(path, Database::Mode::kReadWrite);
  EXPECT_OK(database);
  EXPECT_OK((*database)->Execute(kVersion1));
  for (int i = 0; i < 20; ++i) {
    jobs::Job job = JobOf(absl::StrCat("j", i), "a", "model");
    job.spec.model_name = std::string(200'000, 'm');
    AddJobOfVersion1(**database, job);
    ids.push_back(job.id);
  }
  return ids;
}

// The names of the files that were made in a folder since the object was.
class MadeFiles {
 public:
  explicit MadeFiles(const std::string& folder) : events_(inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(events_.get(), folder.c_str(), IN_CREATE), 0);
  }

  std::set<std::string> Names() {
    std::set<std::string> names;
    alignas(inotify_event) char buffer[64 << 10];
    for (ssize_t size; (size = read(events_.get(), buffer, sizeof(buffer))) > 0;) {
      for (const char* at = buffer; at < buffer + size;) {
        const auto& event = *reinterpret_cast<const inotify_event*>(at);
        names.insert(event.name);
        at += sizeof(inotify_event) + event.len;
      }
    }
    return names;
  }

 private:
  const os::Fd events_;
};

// Where else SQLite would make its copy may have no room, or be a disk of memory.
TEST(OlderDatabasesTest, TheCopyOfARewrittenFileIsMadeBesideIt) {
  TempDir dir;
  FakeClock clock;
  MakeLargeDatabase(dir / "jobs.db");
  MadeFiles made(dir.path());
  ASSERT_OK(OpenSqliteJobStore(dir / "jobs.db", &clock));
  EXPECT_THAT(made.Names(), ::testing::Contains(::testing::StartsWith("etilqs_")));
}

TEST(OlderDatabasesTest, AFileIsNotRewrittenWhereItsCopiesHaveNoRoom) {
  TempDir dir;
  FakeClock clock;
  const std::string path = dir / "jobs.db";
  MakeLargeDatabase(path);
  const std::filesystem::space_info disk = std::filesystem::space(dir.path());
  const auto rewritten = [&](int64_t min_free_bytes) {
    MadeFiles made(dir.path());
    EXPECT_OK(OpenSqliteJobStore(path, &clock, {.min_free_bytes = min_free_bytes}));
    const std::set<std::string> names = made.Names();
    return std::ranges::any_of(names, [](const auto& name) { return name.starts_with("etilqs"); });
  };
  EXPECT_FALSE(rewritten(static_cast<int64_t>(disk.available)));
  EXPECT_TRUE(rewritten(0));
  EXPECT_FALSE(rewritten(0)) << "once";
}

TEST(OlderDatabasesTest, TheFileGetsSmallerWhenJobsAreRemoved) {
  TempDir dir;
  FakeClock clock;
  const std::string path = dir / "jobs.db";
  const std::vector<std::string> ids = MakeLargeDatabase(path);
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(path, &clock));
  ASSERT_OK(store->Write([&](jobs::JobTransaction& write) -> absl::Status {
    for (const std::string& id : ids) QUOTIENT_RETURN_IF_ERROR(write.Remove(id));
    return absl::OkStatus();
  }));
  EXPECT_GE(std::filesystem::file_size(path), 4'000'000);
  while (*store->GiveBack(1 << 20) > 0) {
  }
  EXPECT_LE(std::filesystem::file_size(path), 1'500'000);
}

TEST(OlderDatabasesTest, ARecordThatCannotBeReadDoesNotKeepTheOthersFromBeingTakenOver) {
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

}  // namespace
}  // namespace quotient::store
