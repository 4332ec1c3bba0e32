#include "server/jobs/watch_hub.h"

#include <thread>
#include <vector>

#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::FakeClock;
using ::quotient::testing::QueueTest;

constexpr WatchOptions kOptions{.min_interval_ms = 500, .heartbeat_ms = 15'000};

class WatchHubTest : public QueueTest {
 protected:
  std::unique_ptr<Watch> Subscribe(const std::string& id) {
    return hub_->Subscribe(id, kOptions, [this] { ++wakes_; });
  }
  // The lease of a job that runs.
  Lease MustRun() {
    MustSubmit(Request("a"));
    return MustClaim().lease;
  }
  int wakes_ = 0;
};

TEST_F(WatchHubTest, EachChangeOfStateIsDelivered) {
  const std::string id = MustSubmit(Request("a")).job.id;
  const auto watch = Subscribe(id);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  EXPECT_EQ(wakes_, 2);
  auto update = watch->Next();
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(std::get<Transition>(*update).to, JobState::kRunning);
  update = watch->Next();
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(std::get<Transition>(*update).to, JobState::kSucceeded);
  EXPECT_EQ(watch->Next(), std::nullopt);
}

TEST_F(WatchHubTest, ProgressIsConflatedToTheLatest) {
  const Lease lease = MustRun();
  const auto watch = Subscribe(lease.job_id);
  for (int i = 1; i <= 10; ++i) hub_->PublishProgress(lease, {.best_share = 0.125 * i});
  const auto update = watch->Next();
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(std::get<Progress>(*update).best_share, 1.25);
  EXPECT_FALSE(watch->Next().has_value());
}

TEST_F(WatchHubTest, ProgressKeepsItsDistance) {
  const Lease lease = MustRun();
  const auto watch = Subscribe(lease.job_id);
  hub_->PublishProgress(lease, {});
  EXPECT_TRUE(watch->Next().has_value());
  hub_->PublishProgress(lease, {});
  EXPECT_FALSE(watch->Next().has_value());
  wakes_ = 0;
  hub_->Tick();
  EXPECT_EQ(wakes_, 0);
  clock_.AdvanceMs(500);
  hub_->Tick();
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(watch->Next().has_value());
}

TEST_F(WatchHubTest, SilenceIsBrokenByHeartbeats) {
  const auto watch = Subscribe("job");
  for (int i = 0; i < 3; ++i) {
    clock_.AdvanceMs(14'999);
    EXPECT_FALSE(watch->Next().has_value());
    clock_.AdvanceMs(1);
    hub_->Tick();
    EXPECT_EQ(wakes_, i + 1);
    const auto update = watch->Next();
    ASSERT_TRUE(update.has_value());
    EXPECT_TRUE(std::holds_alternative<Heartbeat>(*update));
  }
}

TEST_F(WatchHubTest, TheLatestProgressIsKeptWhileTheJobRuns) {
  const std::string id = MustSubmit(Request("a")).job.id;
  const Claimed claimed = MustClaim();
  hub_->PublishProgress(claimed.lease, {.phase = "search"});
  ASSERT_TRUE(hub_->LatestProgress(id).has_value());
  EXPECT_EQ(hub_->LatestProgress(id)->phase, "search");
  ASSERT_OK(dispatch_->Finish(claimed.lease, SomeResult()));
  EXPECT_FALSE(hub_->LatestProgress(id).has_value());
}

TEST_F(WatchHubTest, AWorkerThatLostItsLeaseIsNotHeard) {
  const Lease lost = MustRun();
  const auto watch = Subscribe(lost.job_id);
  ASSERT_OK(dispatch_->RecoverAll({}));
  hub_->PublishProgress(lost, {.phase = "search"});
  EXPECT_FALSE(hub_->LatestProgress(lost.job_id).has_value());
  const Lease held = MustClaim().lease;
  hub_->PublishProgress(lost, {.phase = "search"});
  EXPECT_FALSE(hub_->LatestProgress(lost.job_id).has_value());
  hub_->PublishProgress(held, {.phase = "verify"});
  hub_->PublishProgress(lost, {.phase = "search"});
  EXPECT_EQ(hub_->LatestProgress(lost.job_id)->phase, "verify");
  ASSERT_OK(dispatch_->Finish(held, SomeResult()));
  hub_->PublishProgress(held, {.phase = "report"});
  EXPECT_FALSE(hub_->LatestProgress(lost.job_id).has_value());
}

TEST_F(WatchHubTest, NobodyIsWokenAfterTheWatchIsGone) {
  const Lease lease = MustRun();
  Subscribe(lease.job_id).reset();
  hub_->PublishProgress(lease, {});
  EXPECT_EQ(wakes_, 0);
  EXPECT_EQ(hub_->watchers(), 0);
}

TEST_F(WatchHubTest, ClosingWakesForTheLastTime) {
  const auto watch = Subscribe("job");
  EXPECT_FALSE(watch->closed());
  hub_->Close();
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(watch->closed());
}

// For the thread sanitizer: subscribers come and go while others publish, and wakes read back.
TEST(WatchHubStressTest, SurvivesConcurrentUse) {
  FakeClock clock;
  WatchHub hub(&clock);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const JobState to = i % 2 == 0 ? JobState::kRunning : JobState::kQueued;
        hub.OnTransition(Job{.id = "job", .lease_epoch = 1},
                         Transition{.job_id = "job", .sequence = i, .to = to});
        hub.PublishProgress({.job_id = "job", .epoch = 1}, {.best_share = 0.125 * i});
        hub.Tick();
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        std::unique_ptr<Watch> watch;
        absl::Mutex mutex;
        bool ready = false;
        watch = hub.Subscribe("job", kOptions, [&] {
          absl::MutexLock lock(&mutex);
          if (ready) watch->Next();
        });
        {
          absl::MutexLock lock(&mutex);
          ready = true;
          watch->Next();
        }
        {
          absl::MutexLock lock(&mutex);
          ready = false;  // reset() clears the pointer before ~Watch waits for the last wake.
        }
        watch.reset();
      }
    });
  }
}

}  // namespace
}  // namespace quotient::jobs
