#include "server/store/sqlite/client_bytes.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "server/jobs/convert.h"
#include "server/store/sqlite/database.h"
#include "server/store/sqlite/job_store.h"
#include "tests/server/support/bytes_of.h"
#include "tests/server/support/fake_clock.h"
#include "tests/server/support/memory_job_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::store {
namespace {

using jobs::Job;
using jobs::JobState;
using jobs::JobStore;
using jobs::JobTransaction;
using testing::BytesOf;
using testing::FakeClock;
using testing::TempDir;

std::unique_ptr<JobStore> OpenSqlite(const TempDir& dir, const FakeClock& clock) {
  auto store = OpenSqliteJobStore(dir / "jobs.db", &clock);
  EXPECT_OK(store);
  return *std::move(store);
}

Job JobOf(const std::string& id, const std::string& client, absl::string_view model) {
  Job job{.id = id, .client = client, .sequence = 1, .create_ms = 1};
  job.spec.model.graph = BlobId::Of(model);
  return job;
}

// One of few blobs, all of different sizes.
BlobId RandomBlob(Rng& rng) { return BlobId::Of(std::string(size_t{1} << rng.Below(8), 'x')); }

// The changes that jobs go through, at random, with blobs that many of them share, and that come
// and go without jobs, too.
class RandomJobs {
 public:
  explicit RandomJobs(uint64_t seed) : rng_(seed) {}

  // A transaction of some changes, which may fail in the end.
  void Step(std::initializer_list<JobStore*> stores) {
    const std::map<std::string, Job> before = jobs_;
    std::vector<std::function<absl::Status(JobTransaction&)>> changes;
    for (uint64_t i = 1 + rng_.Below(3); i > 0; --i) {
      changes.push_back(rng_.Below(3) == 0 ? ChangeOfLooseBlobs() : ChangeOfJob());
    }
    const bool fails = rng_.Below(4) == 0;
    for (JobStore* const store : stores) {
      const absl::Status status = store->Write([&](JobTransaction& transaction) -> absl::Status {
        for (const auto& change : changes) QUOTIENT_RETURN_IF_ERROR(change(transaction));
        return fails ? absl::InternalError("no") : absl::OkStatus();
      });
      EXPECT_EQ(status.ok(), !fails);
    }
    if (fails) jobs_ = before;
  }

  void RemoveAll(JobStore& store) {
    ASSERT_OK(store.Write([&](JobTransaction& transaction) -> absl::Status {
      for (const auto& [id, job] : jobs_) QUOTIENT_RETURN_IF_ERROR(transaction.Remove(id));
      return absl::OkStatus();
    }));
  }

 private:
  std::function<absl::Status(JobTransaction&)> ChangeOfLooseBlobs() {
    const std::vector<BlobId> blobs = {RandomBlob(rng_), RandomBlob(rng_)};
    if (rng_.Below(4) == 0) {
      return [blobs](JobTransaction& transaction) { return transaction.RemoveLoose(blobs); };
    }
    return [blobs, client = absl::StrCat("c", rng_.Below(3))](JobTransaction& transaction) {
      return transaction.PutLoose(client, blobs);
    };
  }

  std::function<absl::Status(JobTransaction&)> ChangeOfJob() {
    const auto [job, is_removed] = Change();
    return [job = job, is_removed = is_removed](JobTransaction& transaction) {
      return is_removed ? transaction.Remove(job.id) : transaction.Put(job);
    };
  }

  // The job as it is then, and whether it is removed.
  std::pair<Job, bool> Change() {
    const std::string id = absl::StrCat("j", rng_.Below(12));
    const auto [found, is_new] = jobs_.try_emplace(id);
    Job& job = found->second;
    if (is_new) {
      job.id = id;
      job.client = absl::StrCat("c", rng_.Below(3));
      job.spec.model.graph = RandomBlob(rng_);
      for (uint64_t i = rng_.Below(4); i > 0; --i) {
        job.spec.model.external_files[absl::StrCat(i)] = RandomBlob(rng_);
      }
    } else if (IsTerminal(job.state)) {
      if (rng_.Below(2) == 0) return {jobs_.extract(id).mapped(), true};
      ++job.use_ms;
      return {job, false};
    } else if (rng_.Below(3) == 0) {
      job.client = absl::StrCat("c", rng_.Below(3));
      return {job, false};
    } else {
      constexpr JobState kNext[] = {JobState::kQueued, JobState::kRunning, JobState::kFailed,
                                    JobState::kSucceeded, JobState::kSucceeded};
      job.state = kNext[rng_.Below(std::size(kNext))];
      if (job.state == JobState::kSucceeded) {
        job.result = jobs::JobResult{.model = RandomBlob(rng_),
                                     .report_json = RandomBlob(rng_),
                                     .report_html = RandomBlob(rng_)};
      }
    }
    ++job.sequence;
    return {job, false};
  }

  Rng rng_;
  std::map<std::string, Job> jobs_;
};

void RemoveAllLoose(JobStore& store) {
  const std::vector<BlobId> loose = *store.Loose(std::nullopt, 1000);
  ASSERT_FALSE(loose.empty());
  ASSERT_OK(
      store.Write([&](JobTransaction& transaction) { return transaction.RemoveLoose(loose); }));
}

// What the store says of the bytes of all clients.
std::string BytesText(JobStore& store, Rng rng) {
  std::string text;
  EXPECT_OK(store.Write([&](JobTransaction& transaction) -> absl::Status {
    for (const char* client : {"c0", "c1", "c2"}) {
      QUOTIENT_ASSIGN_OR_RETURN(const int64_t bytes, transaction.BytesOf(client));
      const BlobId blobs[] = {RandomBlob(rng), RandomBlob(rng), RandomBlob(rng)};
      QUOTIENT_ASSIGN_OR_RETURN(const int64_t more, transaction.BytesNewTo(client, blobs));
      absl::StrAppend(&text, client, " ", bytes, " + ", more, ", ");
    }
    return absl::OkStatus();
  }));
  const std::vector<BlobId> loose = *store.Loose(RandomBlob(rng).digest, 3);
  for (const BlobId& blob : loose) absl::StrAppend(&text, blob.Text(), ", ");
  return text;
}

// The store in memory adds up the blobs of all jobs each time that it is asked.
TEST(ClientBytesTest, SqliteKeepsTheSumsThatMemoryMakes) {
  TempDir dir;
  FakeClock clock;
  const auto memory = NewMemoryJobStore(&clock);
  auto sqlite = OpenSqlite(dir, clock);
  RandomJobs jobs(/*seed=*/7);
  for (uint64_t step = 0; step < 400; ++step) {
    if (step % 100 == 99) {
      sqlite.reset();
      sqlite = OpenSqlite(dir, clock);
    }
    jobs.Step({memory.get(), sqlite.get()});
    ASSERT_EQ(BytesText(*memory, Rng(step)), BytesText(*sqlite, Rng(step))) << "step " << step;
  }
  jobs.RemoveAll(*sqlite);
  RemoveAllLoose(*sqlite);
  ASSERT_OK_AND_ASSIGN(const auto database,
                       Database::Open(dir / "jobs.db", Database::Mode::kReadOnly));
  for (const char* rows : {"SELECT client FROM client_blob", "SELECT client FROM client_total"}) {
    EXPECT_OK(
        database->Run(rows, {}, [](const Row& row) { return absl::InternalError(row.Text(0)); }));
  }
}

// Its client cannot delete it.
TEST(ClientBytesTest, AJobThatIsSetAsideCountsForNobody) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  ASSERT_OK(store->Write([&](JobTransaction& write) -> absl::Status {
    QUOTIENT_RETURN_IF_ERROR(write.Put(JobOf("good", "a", "shared")));
    Job bad = JobOf("bad", "a", "shared");
    bad.spec.model.external_files["w"] = BlobId::Of("weights");
    return write.Put(bad);
  }));
  const int64_t of_good = 6 + RowBytes(**store->Get("good"));
  EXPECT_EQ(BytesOf(*store, "a"), of_good + 7 + RowBytes(**store->Get("bad")));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(store->Write([&](JobTransaction& write) { return write.SetAside("bad").status(); }));
    EXPECT_EQ(BytesOf(*store, "a"), of_good);
  }
  EXPECT_TRUE(*store->Refers(BlobId::Of("weights"))) << "its files stay";
  ASSERT_OK(store->Write(
      [&](JobTransaction& write) { return write.Put(JobOf("bad", "a", "once more")); }));
  EXPECT_EQ(BytesOf(*store, "a"), of_good + 9 + RowBytes(**store->Get("bad")));
  ASSERT_OK(store->Write([&](JobTransaction& write) { return write.Remove("bad"); }));
  EXPECT_EQ(BytesOf(*store, "a"), of_good + 9) << "its last file is left";
}

TEST(ClientBytesTest, WhatAJobLeavesCountsForItsClientUntilAnotherJobHasItOrItIsGone) {
  TempDir dir;
  FakeClock clock;
  auto store = OpenSqlite(dir, clock);
  const auto write = [&store](const auto& change) { ASSERT_OK(store->Write(change)); };
  write([](JobTransaction& write) { return write.Put(JobOf("a1", "a", "model")); });
  write([](JobTransaction& write) { return write.Remove("a1"); });
  EXPECT_EQ(BytesOf(*store, "a"), 5);
  EXPECT_EQ(*store->Loose(std::nullopt, 10), std::vector<BlobId>{BlobId::Of("model")});
  store.reset();
  store = OpenSqlite(dir, clock);
  EXPECT_EQ(BytesOf(*store, "a"), 5) << "nothing is forgotten";
  write([](JobTransaction& write) { return write.Put(JobOf("b1", "b", "model")); });
  EXPECT_EQ(BytesOf(*store, "a"), 0) << "it is the other one's now";
  EXPECT_EQ(BytesOf(*store, "b"), 5 + RowBytes(**store->Get("b1")));
  write([](JobTransaction& write) { return write.Remove("b1"); });
  EXPECT_EQ(BytesOf(*store, "b"), 5);
  const BlobId gone[] = {BlobId::Of("model")};
  write([&gone](JobTransaction& write) { return write.RemoveLoose(gone); });
  EXPECT_EQ(BytesOf(*store, "b"), 0);
  EXPECT_EQ(*store->Loose(std::nullopt, 10), std::vector<BlobId>{});
}

TEST(ClientBytesTest, ABlobThatTwoClientsSendCountsForTheLastOne) {
  TempDir dir;
  FakeClock clock;
  const auto store = OpenSqlite(dir, clock);
  const BlobId sent[] = {BlobId::Of("model")};
  for (const char* const client : {"a", "b", "b"}) {
    ASSERT_OK(store->Write([&](JobTransaction& write) { return write.PutLoose(client, sent); }));
  }
  EXPECT_EQ(BytesOf(*store, "a"), 0);
  EXPECT_EQ(BytesOf(*store, "b"), 5);
  ASSERT_OK(store->Write([&](JobTransaction& write) -> absl::Status {
    QUOTIENT_RETURN_IF_ERROR(write.Put(JobOf("a1", "a", "model")));
    return write.PutLoose("b", sent);
  }));
  EXPECT_EQ(BytesOf(*store, "a"), 5 + RowBytes(**store->Get("a1")));
  EXPECT_EQ(BytesOf(*store, "b"), 0) << "a job of another client has it";
}

// As a damaged record may have it, which is written back.
TEST(ClientBytesTest, SizesThatNoFileHasBreakNoSums) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqliteJobStore(dir / "jobs.db", &clock));
  Job job = JobOf("j", "a", "model");
  for (const char* name : {"u", "v", "w"}) {
    job.spec.model.external_files[name] = {Digest::Of(name), INT64_MAX};
  }
  ASSERT_OK(store->Write([&](JobTransaction& write) { return write.Put(job); }));
  EXPECT_GT(BytesOf(*store, "a"), int64_t{1} << 45);
  ASSERT_OK(store->Write([&](JobTransaction& write) { return write.Remove("j"); }));
  RemoveAllLoose(*store);
  EXPECT_EQ(BytesOf(*store, "a"), 0);
}

}  // namespace
}  // namespace quotient::store
