#include "server/worker/lease_keeper.h"

#include "absl/synchronization/notification.h"
#include "core/base/reason.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::worker {
namespace {

using jobs::Lease;
using ::quotient::testing::QueueTest;

// The keeper renews at once; with this interval it does so no second time while a test runs.
constexpr absl::Duration kOnce = absl::Hours(1);

// A job store that can be made to fail, and that tells when a transaction has ended.
class FaultyStore : public jobs::JobStore {
 public:
  explicit FaultyStore(jobs::JobStore* store) : store_(*store) {}

  void Fail(bool fails) {
    absl::MutexLock lock(&mutex_);
    fails_ = fails;
  }
  void AwaitWrites(int count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return writes_ >= count; };
    mutex_.Await(absl::Condition(&enough));
  }
  int writes() {
    absl::MutexLock lock(&mutex_);
    return writes_;
  }

  absl::Status Write(WriteFunction write) override {
    absl::MutexLock lock(&mutex_);
    const absl::Status status =
        fails_ ? MakeError(Reason::kStorageDown, "full") : store_.Write(write);
    ++writes_;
    return status;
  }
  absl::StatusOr<std::optional<jobs::Job>> Get(absl::string_view id) override {
    return store_.Get(id);
  }
  absl::StatusOr<std::vector<jobs::NumberedJob>> List(const jobs::ListQuery& query) override {
    return store_.List(query);
  }
  absl::StatusOr<std::vector<jobs::Transition>> History(absl::string_view id,
                                                        int64_t after_sequence) override {
    return store_.History(id, after_sequence);
  }
  absl::StatusOr<std::map<jobs::JobState, int64_t>> CountByState() override {
    return store_.CountByState();
  }

 private:
  jobs::JobStore& store_;
  absl::Mutex mutex_;
  bool fails_ ABSL_GUARDED_BY(mutex_) = false;
  int writes_ ABSL_GUARDED_BY(mutex_) = 0;
};

class LeaseKeeperTest : public QueueTest {
 protected:
  Lease MustRun() {
    MustSubmit(Request("a"));
    return MustClaim().lease;
  }
  // Blocks until the token is set by the keeper's thread.
  void AwaitCancel() {
    while (!token_.cancelled()) std::this_thread::yield();
  }

  FaultyStore faulty_{store_.get()};
  jobs::Ledger faulty_ledger_{&faulty_};
  jobs::Dispatch faulty_dispatch_{&faulty_ledger_};
  CancelToken token_;
};

TEST_F(LeaseKeeperTest, ALeaseThatIsKeptDoesNotExpire) {
  const Lease lease = MustRun();
  {
    clock_.AdvanceMs(jobs::Dispatch::kLeaseMs - 1);
    LeaseKeeper keeper(&faulty_dispatch_, lease, kOnce, &token_);
    faulty_.AwaitWrites(1);
    EXPECT_TRUE(keeper.Stop());
  }
  clock_.AdvanceMs(jobs::Dispatch::kLeaseMs - 1);
  ASSERT_OK_AND_ASSIGN(const int requeued, dispatch_->RequeueLost());
  EXPECT_EQ(requeued, 0);
  EXPECT_FALSE(token_.cancelled());
}

TEST_F(LeaseKeeperTest, RenewsAgainAfterEachInterval) {
  LeaseKeeper keeper(&faulty_dispatch_, MustRun(), absl::Milliseconds(1), &token_);
  faulty_.AwaitWrites(5);
  EXPECT_TRUE(keeper.Stop());
}

TEST_F(LeaseKeeperTest, ALostLeaseEndsTheJob) {
  const Lease lease = MustRun();
  ASSERT_OK(dispatch_->RecoverAll());
  LeaseKeeper keeper(&faulty_dispatch_, lease, absl::Milliseconds(1), &token_);
  AwaitCancel();
  EXPECT_FALSE(keeper.Stop());
  EXPECT_EQ(faulty_.writes(), 1);  // It gives up at once.
}

TEST_F(LeaseKeeperTest, ALeaseThatAnotherWorkerHasIsLost) {
  const Lease lost = MustRun();
  ASSERT_OK(dispatch_->RecoverAll());
  const Lease held = MustClaim().lease;
  CancelToken token_of_lost;
  LeaseKeeper keeper(&faulty_dispatch_, lost, kOnce, &token_of_lost);
  LeaseKeeper other(&faulty_dispatch_, held, kOnce, &token_);
  faulty_.AwaitWrites(2);
  EXPECT_FALSE(keeper.Stop());
  EXPECT_TRUE(other.Stop());
  EXPECT_TRUE(token_of_lost.cancelled());
  EXPECT_FALSE(token_.cancelled());
}

TEST_F(LeaseKeeperTest, ACancelledJobIsStoppedAndItsLeaseIsKept) {
  const jobs::Admitted admitted = MustSubmit(Request("a"));
  const Lease lease = MustClaim().lease;
  ASSERT_OK(admission_->Cancel(admitted.job.id, ""));
  LeaseKeeper keeper(&faulty_dispatch_, lease, kOnce, &token_);
  AwaitCancel();
  EXPECT_TRUE(keeper.Stop());
}

TEST_F(LeaseKeeperTest, AStoreThatFailsIsAskedAgain) {
  const Lease lease = MustRun();
  faulty_.Fail(true);
  LeaseKeeper keeper(&faulty_dispatch_, lease, absl::Milliseconds(1), &token_);
  faulty_.AwaitWrites(2);
  faulty_.Fail(false);
  faulty_.AwaitWrites(faulty_.writes() + 1);
  EXPECT_TRUE(keeper.Stop());
  EXPECT_FALSE(token_.cancelled());
}

TEST_F(LeaseKeeperTest, StoppingTwiceIsStoppingOnce) {
  LeaseKeeper keeper(&faulty_dispatch_, MustRun(), kOnce, &token_);
  EXPECT_TRUE(keeper.Stop());
  EXPECT_TRUE(keeper.Stop());
}

}  // namespace
}  // namespace quotient::worker
