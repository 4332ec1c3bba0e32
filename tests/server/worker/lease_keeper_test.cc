#include "server/worker/lease_keeper.h"

#include <thread>

#include "tests/server/support/queue_fixture.h"

namespace quotient::worker {
namespace {

using jobs::Lease;
using ::quotient::testing::QueueTest;

// The keeper renews at once; with this interval it does so no second time while a test runs.
constexpr absl::Duration kOnce = absl::Hours(1);

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
  // Blocks until the clock has been read so often: each renewal does it once.
  void AwaitReads(int count) {
    while (clock_.reads() < count) std::this_thread::yield();
  }

  CancelToken token_;
};

TEST_F(LeaseKeeperTest, ALeaseThatIsKeptDoesNotExpire) {
  const Lease lease = MustRun();
  EXPECT_EQ(PassAwake(jobs::Dispatch::kLeaseMs - 1), 0);
  {
    const int reads = clock_.reads();
    LeaseKeeper keeper(dispatch_.get(), lease, kOnce, &token_);
    AwaitReads(reads + 1);
    EXPECT_TRUE(keeper.Stop());
  }
  EXPECT_EQ(PassAwake(jobs::Dispatch::kLeaseMs - 1), 0);
  EXPECT_FALSE(token_.cancelled());
  EXPECT_EQ(PassAwake(2), 1);
}

TEST_F(LeaseKeeperTest, RenewsAgainAfterEachInterval) {
  const Lease lease = MustRun();
  const int reads = clock_.reads();
  LeaseKeeper keeper(dispatch_.get(), lease, absl::Milliseconds(1), &token_);
  AwaitReads(reads + 5);
  EXPECT_TRUE(keeper.Stop());
}

TEST_F(LeaseKeeperTest, ALostLeaseEndsTheJob) {
  const Lease lease = MustRun();
  ASSERT_OK(dispatch_->RecoverAll({}));
  const int reads = clock_.reads();
  LeaseKeeper keeper(dispatch_.get(), lease, absl::Milliseconds(1), &token_);
  AwaitCancel();
  EXPECT_FALSE(keeper.Stop());
  EXPECT_EQ(clock_.reads(), reads + 1);  // It gives up at once.
}

TEST_F(LeaseKeeperTest, ALeaseThatAnotherWorkerHasIsLost) {
  const Lease lost = MustRun();
  ASSERT_OK(dispatch_->RecoverAll({}));
  const Lease held = MustClaim().lease;
  CancelToken token_of_lost;
  const int reads = clock_.reads();
  LeaseKeeper keeper(dispatch_.get(), lost, kOnce, &token_of_lost);
  LeaseKeeper other(dispatch_.get(), held, kOnce, &token_);
  AwaitReads(reads + 2);
  EXPECT_FALSE(keeper.Stop());
  EXPECT_TRUE(other.Stop());
  EXPECT_TRUE(token_of_lost.cancelled());
  EXPECT_FALSE(token_.cancelled());
}

TEST_F(LeaseKeeperTest, ACancelledJobIsStoppedAndItsLeaseIsKept) {
  const jobs::Admitted admitted = MustSubmit(Request("a"));
  const Lease lease = MustClaim().lease;
  ASSERT_OK(admission_->Cancel(admitted.job.id, ""));
  LeaseKeeper keeper(dispatch_.get(), lease, kOnce, &token_);
  AwaitCancel();
  EXPECT_TRUE(keeper.Stop());
}

TEST_F(LeaseKeeperTest, StoppingTwiceIsStoppingOnce) {
  LeaseKeeper keeper(dispatch_.get(), MustRun(), kOnce, &token_);
  EXPECT_TRUE(keeper.Stop());
  EXPECT_TRUE(keeper.Stop());
}

}  // namespace
}  // namespace quotient::worker
