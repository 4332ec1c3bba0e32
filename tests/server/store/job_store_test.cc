// All job stores keep the same promises, and behave alike under random use.

#include "server/jobs/job_store.h"

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "server/jobs/convert.h"
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

Job MakeJob(const std::string& id, JobState state = JobState::kQueued) {
  Job job{.id = id, .action_key = "key", .state = state, .sequence = 1};
  job.spec.model.graph = BlobId::Of(id);
  return job;
}

void Put(JobStore& store, const Job& job) {
  ASSERT_OK(store.Write([&](JobTransaction& transaction) { return transaction.Put(job); }));
}

class JobStoreTest : public ::testing::TestWithParam<bool> {
 protected:
  TempDir dir_;
  FakeClock clock_;
  std::unique_ptr<JobStore> store_ =
      GetParam() ? OpenSqlite(dir_, clock_) : NewMemoryJobStore(&clock_);
};

INSTANTIATE_TEST_SUITE_P(Stores, JobStoreTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "sqlite" : "memory"; });

TEST_P(JobStoreTest, AFailedWriteLeavesNoTrace) {
  EXPECT_FALSE(store_
                   ->Write([&](JobTransaction& transaction) {
                     EXPECT_OK(transaction.Put(MakeJob("a")));
                     EXPECT_OK(transaction.PutLease({"a", "me", 1}));
                     return absl::InternalError("no");
                   })
                   .ok());
  ASSERT_OK_AND_ASSIGN(const auto job, store_->Get("a"));
  EXPECT_FALSE(job.has_value());
}

TEST_P(JobStoreTest, AWriteSeesItsOwnChanges) {
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_RETURN_IF_ERROR(transaction.Put(MakeJob("a")));
    QUOTIENT_ASSIGN_OR_RETURN(const auto found, transaction.Find("a"));
    EXPECT_TRUE(found.has_value());
    QUOTIENT_ASSIGN_OR_RETURN(const int queued, transaction.CountQueued());
    EXPECT_EQ(queued, 1);
    EXPECT_EQ(transaction.now_ms(), clock_.UnixMs());
    return absl::OkStatus();
  }));
}

TEST_P(JobStoreTest, TheNewestJobOfAKeyIsFound) {
  Put(*store_, MakeJob("a", JobState::kFailed));
  Put(*store_, MakeJob("b"));
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(const auto found, transaction.FindByActionKey("key"));
    EXPECT_EQ(found->id, "b");
    QUOTIENT_ASSIGN_OR_RETURN(auto none, transaction.FindByActionKey("no key"));
    EXPECT_FALSE(none.has_value());
    Job stopped = MakeJob("b", JobState::kRunning);
    stopped.stop_requested = true;
    QUOTIENT_RETURN_IF_ERROR(transaction.Put(stopped));
    QUOTIENT_ASSIGN_OR_RETURN(none, transaction.FindByActionKey("key"));
    EXPECT_FALSE(none.has_value()) << "a failure that is nobody else's, and a job that is to stop";
    return absl::OkStatus();
  }));
}

TEST_P(JobStoreTest, AReusableEndIsFoundBeforeWhatIsNewer) {
  Job done = MakeJob("a", JobState::kFailed);
  done.error = absl::InvalidArgumentError("bad");
  Put(*store_, done);
  Put(*store_, MakeJob("b"));
  Put(*store_, MakeJob("c", JobState::kCancelled));
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(auto found, transaction.FindByActionKey("key"));
    EXPECT_EQ(found->id, "a");
    return absl::OkStatus();
  }));
  EXPECT_EQ((*store_->FindByActionKey("key"))->id, "a");
  Put(*store_, MakeJob("a", JobState::kCancelled));
  EXPECT_EQ((*store_->FindByActionKey("key"))->id, "b");
}

TEST_P(JobStoreTest, EachClientHasItsHead) {
  for (const auto& [id, client, priority] :
       {std::tuple("a1", "a", 0), std::tuple("a2", "a", 2), std::tuple("a3", "a", 2),
        std::tuple("b1", "b", 0), std::tuple("b2", "b", 0)}) {
    Job job = MakeJob(id);
    job.client = client;
    job.policy.priority = priority;
    job.create_ms = 1000;
    Put(*store_, job);
  }
  Put(*store_, MakeJob("c1", JobState::kRunning));
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(const auto heads, transaction.QueueHeads({}));
    EXPECT_EQ(heads,
              (std::vector<jobs::QueueHead>{{"a", "a2", 1000 - 2 * 600'000}, {"b", "b1", 1000}}));
    QUOTIENT_ASSIGN_OR_RETURN(const auto others, transaction.QueueHeads({"a2", "b1", "b2"}));
    EXPECT_EQ(others, (std::vector<jobs::QueueHead>{{"a", "a3", 1000 - 2 * 600'000}}));
    QUOTIENT_ASSIGN_OR_RETURN(const int of_a, transaction.CountQueuedOf("a"));
    EXPECT_EQ(of_a, 3);
    return absl::OkStatus();
  }));
}

TEST_P(JobStoreTest, ARemovedJobLeavesNothing) {
  Put(*store_, MakeJob("a", JobState::kSucceeded));
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_RETURN_IF_ERROR(transaction.Append({.job_id = "a", .sequence = 1}));
    QUOTIENT_RETURN_IF_ERROR(transaction.PutSubmission({"r", "p", "a", 1}));
    return transaction.Remove("a");
  }));
  EXPECT_FALSE((*store_->Get("a")).has_value());
  EXPECT_TRUE(store_->History("a", 0)->empty());
  EXPECT_FALSE(*store_->Refers(BlobId::Of("a")));
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(const auto submission, transaction.FindSubmission("r"));
    EXPECT_FALSE(submission.has_value());
    return absl::OkStatus();
  }));
}

TEST_P(JobStoreTest, BlobsThatJobsNeedOrMadeAreReferredTo) {
  Job job = MakeJob("a");
  job.spec.model.external_files["w"] = BlobId::Of("weights");
  Put(*store_, job);
  EXPECT_TRUE(*store_->Refers(BlobId::Of("a")));
  EXPECT_TRUE(*store_->Refers(BlobId::Of("weights")));
  EXPECT_FALSE(*store_->Refers(BlobId::Of("made")));
  job.state = JobState::kSucceeded;
  job.result = jobs::JobResult{.model = BlobId::Of("made")};
  Put(*store_, job);
  EXPECT_TRUE(*store_->Refers(BlobId::Of("made")));
  EXPECT_FALSE(*store_->IsWanted(BlobId::Of("made"), "a", 0));
  EXPECT_TRUE(*store_->IsWanted(BlobId::Of("made"), "b", 0));
  job.use_ms = 50;
  Put(*store_, job);
  EXPECT_TRUE(*store_->IsWanted(BlobId::Of("made"), "b", 50));
  EXPECT_FALSE(*store_->IsWanted(BlobId::Of("made"), "b", 51));
}

TEST_P(JobStoreTest, BytesOfAClientAreThoseOfItsDistinctBlobs) {
  Job first = MakeJob("first"), second = MakeJob("second"), other = MakeJob("other");
  first.client = second.client = "a";
  other.client = "b";
  for (Job* const job : {&first, &second, &other}) {
    job->spec.model.external_files["w"] = BlobId::Of("weights");
    Put(*store_, *job);
  }
  const auto bytes = [&](const char* client) {
    int64_t rows = 0;
    EXPECT_OK(store_->List({.filter = {.client = client}}, [&](int64_t /*number*/, const Job& job) {
      rows += RowBytes(job);
      return true;
    }));
    return BytesOf(*store_, client) - rows;
  };
  EXPECT_EQ(bytes("a"), 5 + 6 + 7);
  EXPECT_EQ(bytes("b"), 5 + 7);
  EXPECT_EQ(bytes("c"), 0);
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    const BlobId blobs[] = {BlobId::Of("new"), BlobId::Of("new"), BlobId::Of("first")};
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t to_a, transaction.BytesNewTo("a", blobs));
    EXPECT_EQ(to_a, 3);
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t to_b, transaction.BytesNewTo("b", blobs));
    EXPECT_EQ(to_b, 3 + 5);
    return transaction.Remove("second");
  }));
  EXPECT_EQ(bytes("a"), 5 + 7 + 6) << "what it leaves counts";
  first.client = "b";
  first.sequence = 5;  // It was back in the queue.
  Put(*store_, first);
  EXPECT_EQ(bytes("a"), 6);
  EXPECT_EQ(bytes("b"), 5 + 5 + 7);
}

TEST_P(JobStoreTest, UnusedAndOverdueJobsAreFound) {
  for (const auto& [id, use_ms] : {std::pair("a", 30), std::pair("b", 10), std::pair("c", 20)}) {
    Job job = MakeJob(id, JobState::kFailed);
    job.use_ms = use_ms;
    Put(*store_, job);
  }
  Job waiting = MakeJob("d");
  waiting.start_by_ms = 5;
  Put(*store_, waiting);
  Job cancelled = MakeJob("e", JobState::kCancelled);
  cancelled.start_by_ms = 5;
  Put(*store_, cancelled);
  EXPECT_EQ(*store_->Unused(30, 10), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(*store_->Unused(100, 1), (std::vector<std::string>{"b"}));
  EXPECT_EQ(*store_->Overdue(4), (std::vector<std::string>{}));
  EXPECT_EQ(*store_->Overdue(5), (std::vector<std::string>{"d"}));
}

TEST_P(JobStoreTest, AListCanBeFiltered) {
  int64_t ms = 0;
  for (const auto& [id, client, state] :
       {std::tuple("a", "x", JobState::kQueued), std::tuple("b", "y", JobState::kQueued),
        std::tuple("c", "x", JobState::kFailed), std::tuple("d", "x", JobState::kQueued)}) {
    Job job = MakeJob(id, state);
    job.client = client;
    job.create_ms = ms += 10;
    Put(*store_, job);
  }
  const auto list = [&](const jobs::JobFilter& filter) {
    std::string ids;
    EXPECT_OK(store_->List({.filter = filter}, [&](int64_t /*number*/, const Job& job) {
      ids += job.id;
      return true;
    }));
    return ids;
  };
  EXPECT_EQ(list({}), "dcba");
  EXPECT_EQ(list({.client = "x"}), "dca");
  EXPECT_EQ(list({.state = JobState::kQueued, .client = "x"}), "da");
  EXPECT_EQ(list({.graph_sha256 = BlobId::Of("b").digest.Hex()}), "b");
  EXPECT_EQ(list({.client = "x", .graph_sha256 = BlobId::Of("b").digest.Hex()}), "");
  EXPECT_EQ(list({.created_after_ms = 10, .created_before_ms = 40}), "cb");
}

TEST_P(JobStoreTest, ListsPageByPage) {
  for (int i = 0; i < 5; ++i) {
    Put(*store_, MakeJob(absl::StrCat("j", i), i % 2 == 0 ? JobState::kQueued : JobState::kFailed));
  }
  std::string ids;
  jobs::ListQuery query{.limit = 2};
  const auto note = [&](int64_t number, const Job& job) {
    absl::StrAppend(&ids, job.id, " ");
    query.before_number = number;
    return true;
  };
  for (int page = 0; page < 4; ++page) {
    ASSERT_OK(store_->List(query, note));
    ids += "| ";
  }
  EXPECT_EQ(ids, "j4 j3 | j2 j1 | j0 | | ");
  ids.clear();
  ASSERT_OK(store_->List({.filter = {.state = JobState::kFailed}}, note));
  EXPECT_EQ(ids, "j3 j1 ");
}

TEST_P(JobStoreTest, AListEndsWhereNoMoreIsWanted) {
  for (const char* id : {"a", "b", "c"}) Put(*store_, MakeJob(id));
  std::string ids;
  ASSERT_OK(store_->List({}, [&](int64_t /*number*/, const Job& job) {
    ids += job.id;
    return ids.size() < 2;
  }));
  EXPECT_EQ(ids, "cb");
}

TEST_P(JobStoreTest, ThereIsOneLeasePerJobUntilItIsRemoved) {
  Put(*store_, MakeJob("a"));
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_RETURN_IF_ERROR(transaction.PutLease({"a", "me", 1}));
    QUOTIENT_RETURN_IF_ERROR(transaction.PutLease({"a", "me", 2}));
    QUOTIENT_ASSIGN_OR_RETURN(auto leases, transaction.Leases());
    EXPECT_EQ(leases, std::vector<jobs::Lease>({{"a", "me", 2}}));
    QUOTIENT_RETURN_IF_ERROR(transaction.RemoveLease("a"));
    QUOTIENT_ASSIGN_OR_RETURN(leases, transaction.Leases());
    EXPECT_TRUE(leases.empty());
    return absl::OkStatus();
  }));
}

TEST_P(JobStoreTest, HistoryIsInOrder) {
  Put(*store_, MakeJob("a"));
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    for (int i = 1; i <= 3; ++i) {
      QUOTIENT_RETURN_IF_ERROR(transaction.Append(
          {.job_id = "a", .sequence = i, .time_ms = i, .actor = "x", .reason = "y"}));
    }
    return absl::OkStatus();
  }));
  ASSERT_OK_AND_ASSIGN(const auto history, store_->History("a", 1));
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].sequence, 2);
  EXPECT_EQ(history[1].sequence, 3);
}

// One random step on a store; returns what a user of it would see.
std::string RandomStep(uint64_t seed, JobStore& store) {
  Rng rng(seed);
  const std::string id = absl::StrCat("j", rng.Below(6));
  const auto state = static_cast<JobState>(rng.Below(6));
  const bool fail = rng.Below(5) == 0;
  std::string seen;
  store
      .Write([&](JobTransaction& transaction) -> absl::Status {
        Job job = MakeJob(id, state);
        job.action_key = absl::StrCat("k", rng.Below(3));
        job.lease_epoch = static_cast<int64_t>(seed);
        job.client = absl::StrCat("c", rng.Below(2));
        job.stop_requested = rng.Below(4) == 0;
        job.policy.priority = static_cast<int>(rng.Below(3));
        job.use_ms = IsTerminal(state) ? static_cast<int64_t>(seed) + 1 : 0;
        if (state == JobState::kSucceeded) job.result = jobs::JobResult();
        QUOTIENT_RETURN_IF_ERROR(transaction.Put(job));
        QUOTIENT_RETURN_IF_ERROR(transaction.PutSubmission({absl::StrCat("r", rng.Below(8)), "p",
                                                            id, static_cast<int64_t>(seed),
                                                            rng.Below(2) == 0, rng.Below(2) == 0}));
        QUOTIENT_ASSIGN_OR_RETURN(const auto heads, transaction.QueueHeads({}));
        QUOTIENT_ASSIGN_OR_RETURN(const int wishes, transaction.CountWishes(id));
        QUOTIENT_ASSIGN_OR_RETURN(const int queued, transaction.CountQueued());
        QUOTIENT_ASSIGN_OR_RETURN(const auto same, transaction.FindByActionKey("k0"));
        if (rng.Below(10) == 0) {
          QUOTIENT_RETURN_IF_ERROR(transaction.ForgetSubmissions(static_cast<int64_t>(seed) - 5));
        }
        for (const jobs::QueueHead& head : heads) {
          absl::StrAppend(&seen, head.client, head.job_id, " ", head.rank, " ");
        }
        QUOTIENT_ASSIGN_OR_RETURN(const int full, transaction.CountFullWishes(id));
        QUOTIENT_ASSIGN_OR_RETURN(const int all, transaction.CountSubmissions(id));
        absl::StrAppend(&seen, wishes, " ", full, " of ", all, " ", queued, " ",
                        same.has_value() ? same->id : "-", " ");
        if (rng.Below(8) == 0 && IsTerminal(state)) {
          QUOTIENT_RETURN_IF_ERROR(transaction.Remove(id));
        }
        return fail ? absl::InternalError("no") : absl::OkStatus();
      })
      .IgnoreError();
  EXPECT_OK(store.List({.limit = 4}, [&seen](int64_t /*number*/, const Job& job) {
    absl::StrAppend(&seen, job.id, JobStateName(job.state), job.lease_epoch, " ");
    return true;
  }));
  const auto unused = store.Unused(static_cast<int64_t>(seed), 3);
  EXPECT_OK(unused);
  for (const std::string& job_id : *unused) absl::StrAppend(&seen, "unused ", job_id, " ");
  absl::StrAppend(&seen, *store.Refers(BlobId::Of("j1")), " ");
  const auto counts = store.CountByState();
  EXPECT_OK(counts);
  for (const auto& [counted, count] : *counts) {
    absl::StrAppend(&seen, JobStateName(counted), count, " ");
  }
  return seen;
}

TEST(JobStoresTest, SqliteBehavesAsMemoryDoes) {
  TempDir dir;
  FakeClock clock;
  const auto memory = NewMemoryJobStore(&clock);
  auto sqlite = OpenSqlite(dir, clock);
  for (uint64_t step = 0; step < 150; ++step) {
    if (step % 50 == 49) {
      sqlite.reset();
      sqlite = OpenSqlite(dir, clock);
    }
    ASSERT_EQ(RandomStep(step, *memory), RandomStep(step, *sqlite)) << "step " << step;
  }
}

}  // namespace
}  // namespace quotient::store
