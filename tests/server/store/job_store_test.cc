// All job stores keep the same promises, and behave alike under random use.

#include "server/jobs/job_store.h"

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "server/store/sqlite/job_store.h"
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
    QUOTIENT_ASSIGN_OR_RETURN(const auto none, transaction.FindByActionKey("no key"));
    EXPECT_FALSE(none.has_value());
    return absl::OkStatus();
  }));
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
  ASSERT_OK(store_->List({.state = JobState::kFailed}, note));
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
        QUOTIENT_RETURN_IF_ERROR(transaction.Put(job));
        QUOTIENT_RETURN_IF_ERROR(
            transaction.PutSubmission({absl::StrCat("r", rng.Below(8)), "p", id,
                                       static_cast<int64_t>(seed), rng.Below(2) == 0}));
        QUOTIENT_ASSIGN_OR_RETURN(const auto oldest, transaction.OldestQueued());
        QUOTIENT_ASSIGN_OR_RETURN(const int wishes, transaction.CountWishes(id));
        QUOTIENT_ASSIGN_OR_RETURN(const int queued, transaction.CountQueued());
        QUOTIENT_ASSIGN_OR_RETURN(const auto same, transaction.FindByActionKey("k0"));
        if (rng.Below(10) == 0) {
          QUOTIENT_RETURN_IF_ERROR(transaction.ForgetSubmissions(static_cast<int64_t>(seed) - 5));
        }
        absl::StrAppend(&seen, oldest.has_value() ? oldest->id : "-", " ", wishes, " ", queued, " ",
                        same.has_value() ? same->id : "-", " ");
        return fail ? absl::InternalError("no") : absl::OkStatus();
      })
      .IgnoreError();
  EXPECT_OK(store.List({.limit = 4}, [&seen](int64_t /*number*/, const Job& job) {
    absl::StrAppend(&seen, job.id, JobStateName(job.state), job.lease_epoch, " ");
    return true;
  }));
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
