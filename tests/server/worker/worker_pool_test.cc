#include "server/worker/worker_pool.h"

#include "absl/synchronization/notification.h"
#include "tests/server/support/fake_runner.h"
#include "tests/server/support/faulty_stores.h"
#include "tests/server/support/queue_fixture.h"
#include "tests/support/log_capture.h"

namespace quotient::worker {
namespace {

using jobs::JobState;
using ::quotient::testing::DiskBlobSink;
using ::quotient::testing::FakeRunner;
using ::quotient::testing::Fault;
using ::quotient::testing::FaultyBlobSink;
using ::quotient::testing::FaultyJobStore;
using ::quotient::testing::HasReason;
using ::quotient::testing::LogCapture;
using ::quotient::testing::QueueTest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class WorkerPoolTest : public QueueTest {
 protected:
  // Blocks until the job is in a state, without polling: the watch wakes us.
  void AwaitState(const std::string& id, JobState state) {
    absl::Mutex mutex;
    bool reached = false;
    const auto look = [&] {
      const bool now = MustGet(id).state == state;
      absl::MutexLock lock(&mutex);
      reached |= now;
    };
    const auto watch = hub_->Subscribe(id, {}, look);
    look();
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&reached));
  }

  std::unique_ptr<WorkerPool> StartPool(int workers = 1, bool keeps_checkpoints = true) {
    auto pool = std::make_unique<WorkerPool>(
        PoolSettings{.workers = workers,
                     .keeps_checkpoints = keeps_checkpoints,
                     .renew_interval = absl::Milliseconds(10),
                     .retry_interval = absl::Milliseconds(1),
                     .most_refusals = 4},
        WorkerPool::Dependencies{.ledger = ledger_.get(),
                                 .dispatch = dispatch_.get(),
                                 .checkpoints = checkpoints_.get(),
                                 .hub = hub_.get(),
                                 .runner = &runner_,
                                 .storage = &storage_,
                                 .clock = &clock_,
                                 .prepare = [this] { return unprepared_.Strike(); },
                                 .on_failure = [this] { failed_.Notify(); }});
    pool->Start();
    return pool;
  }

  // Blocks until the storage is down, or up again.
  void AwaitStorage(bool up) {
    absl::MutexLock lock(&storage_mutex_);
    const auto is = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(storage_mutex_) { return up_ == up; };
    storage_mutex_.Await(absl::Condition(&is));
  }

  Fault fault_;
  DiskBlobSink made_{blobs_.get()};
  FaultyBlobSink faulty_made_{&made_, &fault_};
  Fault outage_;      // Of the storage as a whole.
  Fault unprepared_;  // Of what is to be done before the first job.
  FakeRunner runner_{blobs_.get(), &faulty_made_};
  absl::Notification failed_;
  absl::Mutex storage_mutex_;
  bool up_ ABSL_GUARDED_BY(storage_mutex_) = true;
  bool has_changed_ ABSL_GUARDED_BY(storage_mutex_) = false;
  StorageGate storage_{{.first = absl::Milliseconds(1)},
                       {.clock = &clock_,
                        .probe = [this] { return outage_.Strike(); },
                        .on_change =
                            [this](const absl::Status& state) {
                              absl::MutexLock lock(&storage_mutex_);
                              up_ = state.ok();
                              has_changed_ = true;
                            }}};
};

TEST_F(WorkerPoolTest, RunsJobsToTheirEnd) {
  runner_.Release();
  const auto pool = StartPool(2);
  const std::string good = MustSubmit(Request("model")).job.id;
  const std::string bad = MustSubmit(Request("bad")).job.id;
  AwaitState(good, JobState::kSucceeded);
  AwaitState(bad, JobState::kFailed);
  EXPECT_THAT(MustGet(bad).error, HasReason(Reason::kModelMalformed));
}

TEST_F(WorkerPoolTest, OnlyWhatOperatorsCanMendIsLoggedAsTrouble) {
  runner_.Release();
  const LogCapture log;
  auto pool = StartPool();
  const std::string good = MustSubmit(Request("model")).job.id;
  const std::string bad = MustSubmit(Request("bad")).job.id;
  const std::string lost = MustSubmit(Request("lost")).job.id;
  AwaitState(lost, JobState::kFailed);
  const std::string bug = MustSubmit(Request("bug")).job.id;
  AwaitState(bug, JobState::kFailed);
  pool.reset();
  EXPECT_THAT(log.lines(),
              IsSupersetOf({"info job " + good + ": finished after 0.0 s\n",
                            "info job " + bad + ": no result after 0.0 s: node 'x': bad\n",
                            "warning job " + lost + ": no result after 0.0 s: no such device\n",
                            "error job " + bug + ": no result after 0.0 s: a bug\n"}));
}

TEST_F(WorkerPoolTest, ACancelledJobStops) {
  const auto pool = StartPool();
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  ASSERT_OK(admission_->Cancel(id, ""));
  AwaitState(id, JobState::kCancelled);
}

TEST_F(WorkerPoolTest, AStoppedJobSucceedsWithWhatItHas) {
  const auto pool = StartPool();
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  ASSERT_OK(admission_->Stop(id, ""));
  AwaitState(id, JobState::kSucceeded);
  EXPECT_TRUE(MustGet(id).result->stopped_early);
  EXPECT_EQ(MustSubmit(Request("model")).disposition, jobs::Disposition::kNew);
}

TEST_F(WorkerPoolTest, AJobThatWasStoppedWhileItWaitedFinishesAtOnce) {
  const std::string id = MustSubmit(Request("model")).job.id;
  ASSERT_OK(admission_->Stop(id, ""));
  const auto pool = StartPool();
  AwaitState(id, JobState::kSucceeded);
  EXPECT_TRUE(MustGet(id).result->stopped_early);
}

TEST_F(WorkerPoolTest, ProgressReachesTheHub) {
  const auto pool = StartPool();
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  ASSERT_TRUE(hub_->LatestProgress(id).has_value());
  EXPECT_EQ(hub_->LatestProgress(id)->best_share, 0.5);
}

TEST_F(WorkerPoolTest, AStoppedPoolHandsItsJobsBack) {
  auto pool = StartPool();
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  pool->Stop();
  EXPECT_EQ(MustGet(id).state, JobState::kQueued);
  EXPECT_EQ(MustGet(id).attempt, 0);
}

TEST_F(WorkerPoolTest, AJobWhoseResultCannotBeStoredGoesBackAndOnFromItsCheckpoint) {
  runner_.Release();
  fault_.Set(true);
  outage_.Set(true);
  const std::string id = MustSubmit(Request("model")).job.id;
  auto pool = StartPool();
  AwaitStorage(false);
  AwaitState(id, JobState::kQueued);
  EXPECT_EQ(MustGet(id).attempt, 0);
  EXPECT_EQ(checkpoints_->Find(id), "begun by 1");
  EXPECT_EQ(runner_.runs(), 1);
  fault_.Set(false);
  outage_.Set(false);
  clock_.AdvanceMs(1);
  AwaitState(id, JobState::kSucceeded);
  AwaitStorage(true);
  pool.reset();
  EXPECT_EQ(MustGet(id).attempt, 1);
  EXPECT_THAT(runner_.found(), ElementsAre("", "begun by 1"));
}

// As one whose result is larger than the disk.
TEST_F(WorkerPoolTest, AJobThatOnlyTheStorageRefusesIsTriedAFewTimesAndHoldsUpNoOther) {
  runner_.Release();
  fault_.Set(true);
  const std::string id = MustSubmit(Request("model")).job.id;
  auto pool = StartPool();
  fault_.AwaitStrikes(1);
  AwaitState(id, JobState::kQueued);
  fault_.Set(false);
  for (int attempt = 2; attempt <= 4; ++attempt) {
    // Another job of its client goes before it, and wakes the worker.
    const std::string other = MustSubmit(Request(absl::StrCat("model ", attempt))).job.id;
    AwaitState(other, JobState::kSucceeded);
    EXPECT_EQ(MustGet(id).state, JobState::kQueued);
    EXPECT_EQ(MustGet(id).attempt, 0);
    fault_.Set(true);
    clock_.AdvanceMs(300'000);
    const std::string waker = MustSubmit(Request("bad")).job.id;
    fault_.AwaitStrikes(attempt);
    AwaitState(id, attempt < 4 ? JobState::kQueued : JobState::kFailed);
    AwaitState(waker, JobState::kFailed);
    fault_.Set(false);
  }
  EXPECT_THAT(
      MustGet(id).error,
      HasReason(Reason::kStorageDown, ::testing::HasSubstr("nothing of this job in 4 attempts")));
  EXPECT_EQ(MustSubmit(Request("model")).disposition, jobs::Disposition::kNew);
  pool.reset();
  absl::MutexLock lock(&storage_mutex_);
  EXPECT_FALSE(has_changed_) << "the server was ready all the time";
}

TEST_F(WorkerPoolTest, NoJobIsTakenBeforeWhatWasInterruptedIsTakenUp) {
  runner_.Release();
  unprepared_.Set(true);
  const std::string id = MustSubmit(Request("model")).job.id;
  const auto pool = StartPool();
  AwaitStorage(false);
  EXPECT_EQ(runner_.runs(), 0);
  unprepared_.Set(false);
  clock_.AdvanceMs(1);
  AwaitState(id, JobState::kSucceeded);
  AwaitStorage(true);
}

TEST_F(WorkerPoolTest, AResultThatTheJobStoreDoesNotTakeIsOfferedUntilItDoes) {
  Fault full;
  store_ = std::make_unique<FaultyJobStore>(std::move(store_), &full);
  Restart();
  const std::string id = MustSubmit(Request("model")).job.id;
  const auto pool = StartPool();
  runner_.AwaitRuns(1);
  full.Set(true);
  runner_.Release();
  full.AwaitStrikes(5);
  AwaitStorage(false);
  full.Set(false);
  AwaitState(id, JobState::kSucceeded);
  AwaitStorage(true);
  EXPECT_EQ(runner_.runs(), 1);
  EXPECT_EQ(MustGet(id).attempt, 1);
}

TEST_F(WorkerPoolTest, ALostDeviceEndsThePoolAndNoJob) {
  const std::string fatal = MustSubmit(Request("fatal model")).job.id;
  const std::string next = MustSubmit(Request("model")).job.id;
  runner_.Release();
  const auto pool = StartPool();
  failed_.WaitForNotification();
  pool->Stop();
  EXPECT_THAT(pool->failure(), HasReason(Reason::kDeviceLost));
  EXPECT_EQ(MustGet(fatal).state, JobState::kQueued);
  EXPECT_EQ(MustGet(fatal).attempt, 1);
  EXPECT_EQ(MustGet(next).state, JobState::kQueued);
  EXPECT_EQ(MustGet(next).attempt, 0);
}

TEST_F(WorkerPoolTest, AReplacedProgramEndsThePoolAndCostsTheJobNothing) {
  const std::string id = MustSubmit(Request("replaced")).job.id;
  runner_.Release();
  const auto pool = StartPool();
  failed_.WaitForNotification();
  pool->Stop();
  EXPECT_THAT(pool->failure(), HasReason(Reason::kProgramReplaced));
  EXPECT_EQ(MustGet(id).state, JobState::kQueued);
  EXPECT_EQ(MustGet(id).attempt, 0);
}

TEST_F(WorkerPoolTest, AJobWhoseProcessDiesIsTriedThreeTimesAndHoldsUpNoOther) {
  const std::string deadly = MustSubmit(Request("deadly model")).job.id;
  const std::string next = MustSubmit(Request("model")).job.id;
  runner_.Release();
  const auto pool = StartPool();
  AwaitState(deadly, JobState::kFailed);
  AwaitState(next, JobState::kSucceeded);
  EXPECT_EQ(MustGet(deadly).attempt, 3);
  EXPECT_THAT(MustGet(deadly).error, HasReason(Reason::kPoisoned, "the process died"));
  EXPECT_OK(pool->failure());
}

TEST_F(WorkerPoolTest, AnotherPoolFinishesWhatTheFirstHandedBack) {
  const std::string id = MustSubmit(Request("model")).job.id;
  auto first = StartPool();
  runner_.AwaitRuns(1);
  first.reset();
  runner_.Release();
  Restart();
  const auto second = StartPool();
  AwaitState(id, JobState::kSucceeded);
}

TEST_F(WorkerPoolTest, AWorkerThatHasLostItsLeaseStopsAndWritesNothing) {
  const auto pool = StartPool();
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  // As if the process had been paused for longer than a lease.
  ASSERT_OK(dispatch_->RecoverAll({}));
  runner_.AwaitRuns(2);  // the same pool claims it again, under a new epoch
  runner_.Release();
  AwaitState(id, JobState::kSucceeded);
  EXPECT_EQ(MustGet(id).attempt, 2);
}

TEST_F(WorkerPoolTest, ARunThatHasLostItsLeaseDoesNotHideItsSuccessor) {
  auto pool = StartPool(2);
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  ASSERT_OK(dispatch_->RecoverAll({}));
  runner_.AwaitRuns(2);  // by the second worker, while the first has yet to notice
  const std::string other = MustSubmit(Request("other")).job.id;
  runner_.AwaitRuns(3);  // by the first worker, now free
  pool->Stop();
  EXPECT_EQ(MustGet(id).state, JobState::kQueued);
  EXPECT_EQ(MustGet(other).state, JobState::kQueued);
}

TEST_F(WorkerPoolTest, AJobThatWasHandedBackGoesOnFromItsCheckpoint) {
  const std::string id = MustSubmit(Request("model")).job.id;
  auto first = StartPool();
  runner_.AwaitRuns(1);
  first.reset();
  EXPECT_EQ(checkpoints_->Find(id), "stopped by 1");
  Restart();
  runner_.Release();
  auto second = StartPool();
  AwaitState(id, JobState::kSucceeded);
  second.reset();  // the checkpoint goes right after the job has ended
  EXPECT_THAT(runner_.found(), ElementsAre("", "stopped by 1"));
  EXPECT_THAT(*checkpoint_store_->List(), IsEmpty());
}

TEST_F(WorkerPoolTest, AWorkerThatHasLostItsLeaseLeavesNoCheckpoint) {
  const auto pool = StartPool();
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  ASSERT_OK(dispatch_->RecoverAll({}));
  runner_.AwaitRuns(2);
  ASSERT_OK(dispatch_->RecoverAll({}));
  runner_.AwaitRuns(3);
  EXPECT_THAT(runner_.found(), ElementsAre("", "begun by 1", "begun by 2"));
}

TEST_F(WorkerPoolTest, ACheckpointGoesWithItsJob) {
  auto pool = StartPool();
  const std::string id = MustSubmit(Request("model")).job.id;
  runner_.AwaitRuns(1);
  EXPECT_THAT(*checkpoint_store_->List(), ElementsAre(id));
  ASSERT_OK(admission_->Cancel(id, ""));
  AwaitState(id, JobState::kCancelled);
  pool.reset();
  EXPECT_THAT(*checkpoint_store_->List(), IsEmpty());
}

TEST_F(WorkerPoolTest, CheckpointsCanBeTurnedOff) {
  runner_.Release();
  const auto pool = StartPool(1, /*keeps_checkpoints=*/false);
  AwaitState(MustSubmit(Request("model")).job.id, JobState::kSucceeded);
  EXPECT_THAT(runner_.found(), ElementsAre("none"));
}

}  // namespace
}  // namespace quotient::worker
