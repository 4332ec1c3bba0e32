#include "server/ops/job_counts.h"

#include <map>
#include <string>

#include "server/ops/queue_age.h"
#include "server/store/sqlite/database.h"
#include "server/store/sqlite/job_store.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::ops {
namespace {

using jobs::JobState;

// The figures of a queue on a disk, whose records can be damaged.
class UnreadableJobTest : public testing::QueueTest {
 protected:
  UnreadableJobTest() {
    auto store = store::OpenSqliteJobStore(dir_ / "jobs.db", &clock_);
    EXPECT_OK(store);
    store_ = *std::move(store);
    Restart();
    ledger_->AddObserver(&counts_);
    ledger_->AddObserver(&age_);
  }

  void Damage(const std::string& id) {
    ASSERT_OK_AND_ASSIGN(
        const auto database,
        store::Database::Open(dir_ / "jobs.db", store::Database::Mode::kReadWrite));
    ASSERT_OK(database->Run("UPDATE job SET record = ? WHERE id = ?",
                            {store::Bytes{"damaged"}, absl::string_view(id)}));
  }
  // The states that have jobs.
  std::map<JobState, int64_t> Counts() const {
    std::map<JobState, int64_t> counts = counts_.Get();
    std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
    return counts;
  }

  JobCounts counts_{{}};
  QueueAge age_{{}, &clock_};
};

TEST_F(UnreadableJobTest, AWaitingJobThatIsLeftOutIsCountedNoMore) {
  const std::string id = MustSubmit(Request("damaged")).job.id;
  clock_.AdvanceMs(5000);
  MustSubmit(Request("good"));
  Damage(id);
  clock_.AdvanceMs(1000);
  EXPECT_NE(MustClaim().job.id, id);
  EXPECT_EQ(Counts(), (std::map<JobState, int64_t>{{JobState::kRunning, 1}}));
  EXPECT_EQ(Counts(), *store_->CountByState());
  EXPECT_EQ(age_.OldestSeconds(), 0);
}

TEST_F(UnreadableJobTest, ARunningJobThatIsLeftOutHoldsNothing) {
  MustSubmit(Request("damaged"));
  const jobs::Claimed claimed = MustClaim();
  Damage(claimed.job.id);
  EXPECT_TRUE(absl::IsAborted(dispatch_->Finish(claimed.lease, SomeResult())));
  EXPECT_EQ(Counts(), (std::map<JobState, int64_t>{}));
  EXPECT_EQ(dispatch_->leases(), 0);
  ASSERT_OK(store_->Write([](jobs::JobTransaction& store) -> absl::Status {
    EXPECT_TRUE(store.Leases()->empty());
    return absl::OkStatus();
  }));
}

TEST_F(UnreadableJobTest, ACheckpointOfAJobThatCannotBeReadIsRemoved) {
  MustSubmit(Request("damaged"));
  const jobs::Claimed claimed = MustClaim();
  ASSERT_OK(checkpoints_->Save(claimed.lease, "bytes"));
  Damage(claimed.job.id);
  EXPECT_EQ(*checkpoints_->RemoveEnded(), 1);
  EXPECT_EQ(checkpoints_->Find(claimed.job.id), "");
}

}  // namespace
}  // namespace quotient::ops
