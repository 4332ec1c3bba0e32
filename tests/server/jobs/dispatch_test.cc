#include "server/jobs/dispatch.h"

#include <thread>

#include "tests/server/support/queue_fixture.h"
#include "tests/support/clock_set_back.h"
#include "tests/support/log_capture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::LogCapture;
using ::quotient::testing::QueueTest;
using ::quotient::testing::StatusIs;
using ::testing::ElementsAre;

using DispatchTest = QueueTest;

TEST_F(DispatchTest, JobsAreClaimedInTheOrderOfSubmission) {
  const std::string first = MustSubmit(Request("a")).job.id;
  const std::string second = MustSubmit(Request("b")).job.id;
  EXPECT_EQ(MustClaim().job.id, first);
  EXPECT_EQ(MustClaim().job.id, second);
  ASSERT_OK_AND_ASSIGN(const auto none, dispatch_->Claim("test"));
  EXPECT_FALSE(none.has_value());
}

TEST_F(DispatchTest, AFinishedJobHasItsResult) {
  const std::string id = MustSubmit(Request("a")).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  const Job job = MustGet(id);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.result, SomeResult());
  EXPECT_EQ(job.end_ms, clock_.UnixMs());
}

TEST_F(DispatchTest, AFailedJobHasItsError) {
  const std::string id = MustSubmit(Request("a")).job.id;
  log_.Take();
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, MakeError(Reason::kLimitDims, "node 'n'")));
  EXPECT_THAT(MustGet(id).error, HasReason(Reason::kLimitDims));
  EXPECT_THAT(log_.Take(), ElementsAre("QUEUED>RUNNING claimed", "RUNNING>FAILED LIMIT_DIMS"));
}

TEST_F(DispatchTest, ALeaseThatIsRenewedHolds) {
  MustSubmit(Request("a"));
  const Claimed claimed = MustClaim();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(PassAwake(Dispatch::kLeaseMs - 1), 0);
    ASSERT_OK_AND_ASSIGN(const Orders orders, dispatch_->Renew(claimed.lease));
    EXPECT_EQ(orders, Orders());
  }
}

TEST_F(DispatchTest, APauseOfTheProcessEndsNoLease) {
  const std::string id = MustSubmit(Request("a")).job.id;
  const Claimed claimed = MustClaim();
  EXPECT_EQ(PassAwake(Dispatch::kLeaseMs / 3), 0);
  clock_.AdvanceMs(3600 * 1000);
  // The periodic task comes before the worker's renewal.
  EXPECT_EQ(*dispatch_->RequeueLost(), 0);
  EXPECT_OK(dispatch_->Renew(claimed.lease));
  EXPECT_EQ(MustGet(id).attempt, 1);
  EXPECT_EQ(MustGet(id).state, JobState::kRunning);
}

TEST_F(DispatchTest, AClockThatIsSetForwardEndsNoLease) {
  MustSubmit(Request("a"));
  const Claimed claimed = MustClaim();
  clock_.SetForwardMs(3600 * 1000);
  EXPECT_EQ(PassAwake(Dispatch::kLeaseMs - 1), 0);
  EXPECT_OK(dispatch_->Renew(claimed.lease));
}

TEST_F(DispatchTest, AWorkerWhoseLeaseIsLostCanWriteNothing) {
  const std::string id = MustSubmit(Request("a")).job.id;
  const Claimed old = MustClaim();
  EXPECT_EQ(PassAwake(Dispatch::kLeaseMs + 1), 1);
  const Claimed current = MustClaim();
  EXPECT_EQ(current.job.attempt, 2);
  EXPECT_THAT(dispatch_->Renew(old.lease), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(dispatch_->Finish(old.lease, SomeResult()), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(dispatch_->HandBack(old.lease, "drained"), StatusIs(absl::StatusCode::kAborted));
  const auto fail = [] { return absl::InternalError("not to be called"); };
  EXPECT_THAT(dispatch_->WhileHeld(old.lease, fail), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(dispatch_->WhileHeld(current.lease, fail), StatusIs(absl::StatusCode::kInternal));
  EXPECT_OK(dispatch_->Finish(current.lease, SomeResult()));
  EXPECT_EQ(MustGet(id).state, JobState::kSucceeded);
}

TEST_F(DispatchTest, AJobHandedBackHasLostNoAttempt) {
  const std::string id = MustSubmit(Request("a")).job.id;
  for (int i = 0; i < 5; ++i) ASSERT_OK(dispatch_->HandBack(MustClaim().lease, "drained"));
  EXPECT_EQ(MustGet(id).attempt, 0);
  EXPECT_EQ(MustClaim().job.attempt, 1);
}

TEST_F(DispatchTest, ARestartTakesRunningJobsUpAgain) {
  const std::string running = MustSubmit(Request("a")).job.id;
  MustClaim();
  const std::string waiting = MustSubmit(Request("b")).job.id;
  Restart();
  ASSERT_OK_AND_ASSIGN(const int recovered, dispatch_->RecoverAll({}));
  EXPECT_EQ(recovered, 1);
  EXPECT_EQ(MustClaim().job.id, running);
  EXPECT_EQ(MustClaim().job.id, waiting);
}

TEST_F(DispatchTest, AJobThatKillsItsWorkerEachTimeIsGivenUp) {
  const std::string id = MustSubmit(Request("a")).job.id;
  const LogCapture log;
  for (int i = 0; i < Ledger::kMaxAttempts; ++i) {
    EXPECT_EQ(MustGet(id).state, JobState::kQueued);
    MustClaim();
    Restart();
    ASSERT_OK(dispatch_->RecoverAll({}));
  }
  EXPECT_EQ(MustGet(id).state, JobState::kFailed);
  EXPECT_THAT(MustGet(id).error, HasReason(Reason::kPoisoned));
  EXPECT_THAT(log.lines(),
              ElementsAre("error job " + id + ": the worker died on each of 3 attempts\n"));
}

TEST_F(DispatchTest, AnEndThatIsNotTheJobsFaultCostsNoAttempt) {
  const std::string id = MustSubmit(Request("a")).job.id;
  for (const LastEnd::Kind kind : {LastEnd::Kind::kTold, LastEnd::Kind::kRestart}) {
    for (int i = 0; i < Ledger::kMaxAttempts; ++i) {
      MustClaim();
      Restart();
      log_.Take();
      ASSERT_OK(dispatch_->RecoverAll({kind}));
      EXPECT_THAT(log_.Take(), ElementsAre("RUNNING>QUEUED interrupted"));
    }
  }
  EXPECT_EQ(MustGet(id).attempt, 0);
  EXPECT_FALSE(MustGet(id).runs_alone);
}

TEST_F(DispatchTest, WhoIsSuspectedRunsAloneUntilItIsKnown) {
  const std::string guilty = MustSubmit(Request("a")).job.id;
  const std::string innocent = MustSubmit(Request("b")).job.id;
  MustClaim();
  MustClaim();
  Restart();
  ASSERT_OK(dispatch_->RecoverAll({}));
  const std::string next = MustSubmit(Request("c")).job.id;
  for (int i = 0; i < Ledger::kMaxAttempts; ++i) {
    EXPECT_EQ(MustClaim().job.id, guilty);
    EXPECT_FALSE((*dispatch_->Claim("test")).has_value());
    Restart();
    ASSERT_OK(dispatch_->RecoverAll({}));
  }
  EXPECT_THAT(MustGet(guilty).error, HasReason(Reason::kPoisoned));
  const Claimed claimed = MustClaim();
  EXPECT_EQ(claimed.job.id, innocent);
  EXPECT_EQ(claimed.job.attempt, 1);
  EXPECT_FALSE((*dispatch_->Claim("test")).has_value());
  ASSERT_OK(dispatch_->Finish(claimed.lease, SomeResult()));
  EXPECT_EQ(MustClaim().job.id, next);
}

TEST_F(DispatchTest, AJobThatRunsAloneWaitsForThoseThatRun) {
  MustSubmit(Request("a"));
  const std::string suspect = MustSubmit(Request("b")).job.id;
  MustClaim();
  MustClaim();
  Restart();
  ASSERT_OK(dispatch_->RecoverAll({}));
  const Claimed first = MustClaim();
  ASSERT_OK(dispatch_->HandBack(first.lease, "drained"));
  ASSERT_OK(admission_->Cancel(first.job.id, ""));
  EXPECT_EQ(MustClaim().job.id, suspect);
}

TEST_F(DispatchTest, WaitingEndsWhenAJobThatRanAloneEnds) {
  MustSubmit(Request("a"));
  MustSubmit(Request("b"));
  MustClaim();
  MustClaim();
  Restart();
  ASSERT_OK(dispatch_->RecoverAll({}));
  const Claimed alone = MustClaim();
  EXPECT_FALSE((*dispatch_->Claim("test")).has_value());
  std::thread waiter([this] { dispatch_->WaitForWork(absl::InfiniteDuration()); });
  ASSERT_OK(dispatch_->Finish(alone.lease, SomeResult()));
  waiter.join();
}

TEST_F(DispatchTest, AJobThatItsProcessCannotFinishIsTriedAgainAndThenFailsWithTheCause) {
  const std::string id = MustSubmit(Request("a")).job.id;
  const absl::Status lost = MakeError(Reason::kDeviceLost, "the GPU failed");
  for (int i = 0; i < Ledger::kMaxAttempts; ++i) {
    EXPECT_EQ(MustGet(id).state, JobState::kQueued);
    const Claimed claimed = MustClaim();
    ASSERT_OK(dispatch_->Lose(claimed.lease, "DEVICE_LOST", lost));
    EXPECT_THAT(dispatch_->Lose(claimed.lease, "DEVICE_LOST", lost),
                StatusIs(absl::StatusCode::kAborted));
  }
  EXPECT_EQ(MustGet(id).state, JobState::kFailed);
  EXPECT_THAT(MustGet(id).error, HasReason(Reason::kDeviceLost));
}

TEST_F(DispatchTest, ACancelledRunEndsAsCancelledWhateverTheWorkerSays) {
  for (const bool succeeds : {true, false}) {
    const std::string id = MustSubmit(Request(succeeds ? "a" : "b")).job.id;
    const Claimed claimed = MustClaim();
    ASSERT_OK_AND_ASSIGN(const Job job, admission_->Cancel(id, ""));
    EXPECT_EQ(job.state, JobState::kCancelling);
    ASSERT_OK_AND_ASSIGN(const Orders orders, dispatch_->Renew(claimed.lease));
    EXPECT_EQ(orders, Orders{.cancel = true});
    if (succeeds) {
      ASSERT_OK(dispatch_->Finish(claimed.lease, SomeResult()));
    } else {
      ASSERT_OK(dispatch_->Finish(claimed.lease, MakeError(Reason::kCancelled, "stopped")));
    }
    EXPECT_EQ(MustGet(id).state, JobState::kCancelled);
    EXPECT_FALSE(MustGet(id).result.has_value());
  }
}

TEST_F(DispatchTest, AWorkerHearsThatItsJobIsToFinishAndThatItIsCancelled) {
  const std::string id = MustSubmit(Request("a")).job.id;
  const Claimed claimed = MustClaim();
  ASSERT_OK(admission_->Stop(id, ""));
  EXPECT_EQ(*dispatch_->Renew(claimed.lease), Orders{.finish = true});
  ASSERT_OK(admission_->Cancel(id, ""));
  EXPECT_EQ(*dispatch_->Renew(claimed.lease), (Orders{.cancel = true, .finish = true}));
}

TEST_F(DispatchTest, AJobThatDidNotBeginInTimeFails) {
  SubmitRequest request = Request("a");
  request.policy.queue_ms = 1000;
  const std::string late = MustSubmit(request).job.id;
  const std::string patient = MustSubmit(Request("b")).job.id;
  EXPECT_EQ(*dispatch_->FailOverdue(), 0);
  clock_.AdvanceMs(1000);
  log_.Take();
  EXPECT_EQ(*dispatch_->FailOverdue(), 1);
  EXPECT_THAT(MustGet(late).error, HasReason(Reason::kQueueDeadline));
  EXPECT_THAT(log_.Take(), ElementsAre("QUEUED>FAILED QUEUE_DEADLINE"));
  EXPECT_EQ(MustClaim().job.id, patient);
}

TEST_F(DispatchTest, AnOverdueJobIsNotBegunBeforeItIsLookedFor) {
  SubmitRequest request = Request("a");
  request.policy.queue_ms = 1000;
  const std::string late = MustSubmit(request).job.id;
  const std::string patient = MustSubmit(Request("b")).job.id;
  clock_.AdvanceMs(3'600'000);
  EXPECT_EQ(MustClaim().job.id, patient);
  EXPECT_EQ(MustGet(late).state, JobState::kFailed);
}

TEST_F(DispatchTest, AJobThatHasBegunOnceMayWaitAgain) {
  SubmitRequest request = Request("a");
  request.policy.queue_ms = 1000;
  const std::string id = MustSubmit(request).job.id;
  ASSERT_OK(dispatch_->HandBack(MustClaim().lease, "drained"));
  clock_.AdvanceMs(5000);
  EXPECT_EQ(*dispatch_->FailOverdue(), 0);
  EXPECT_EQ(MustClaim().job.id, id);
}

TEST_F(DispatchTest, OfOneClientTheHighestPriorityIsNextAndAgeCounts) {
  std::vector<std::string> ids;
  for (const auto& [model, priority] :
       {std::pair("low", -1), std::pair("usual", 0), std::pair("high", 2)}) {
    SubmitRequest request = Request(model);
    request.policy.priority = priority;
    ids.push_back(MustSubmit(request).job.id);
  }
  EXPECT_EQ(MustClaim().job.id, ids[2]);
  clock_.AdvanceMs(JobPolicy::kMsPerLevel + 1);
  SubmitRequest late = Request("late");
  const std::string late_id = MustSubmit(late).job.id;
  EXPECT_EQ(MustClaim().job.id, ids[1]);
  EXPECT_EQ(MustClaim().job.id, ids[0]) << "it has waited for longer than a level is worth";
  EXPECT_EQ(MustClaim().job.id, late_id);
}

TEST_F(DispatchTest, ClientsTakeTurnsHoweverManyJobsTheyHave) {
  limits_.max_queued = 10;
  Restart();
  std::string order;
  for (const char* model : {"a1", "a2", "a3", "b1"}) {
    SubmitRequest request = Request(model);
    request.client = std::string(model, 1);
    MustSubmit(request);
  }
  for (int i = 0; i < 4; ++i) order += MustClaim().job.client;
  EXPECT_EQ(order, "abaa");
}

TEST_F(DispatchTest, WaitingEndsWhenAJobArrives) {
  ASSERT_OK(dispatch_->Claim("test"));
  std::thread waiter([this] { dispatch_->WaitForWork(absl::InfiniteDuration()); });
  MustSubmit(Request("a"));
  waiter.join();
}

TEST_F(DispatchTest, WaitingTakesNoLongerIfTheMachinesClockIsSetBack) {
  ASSERT_OK(dispatch_->Claim("test"));
  EXPECT_TRUE(
      testing::IgnoresClockSetBack([this] { dispatch_->WaitForWork(absl::Milliseconds(1)); }));
}

TEST_F(DispatchTest, WaitingEndsWhenInterrupted) {
  ASSERT_OK(dispatch_->Claim("test"));
  std::thread waiter([this] { dispatch_->WaitForWork(absl::InfiniteDuration()); });
  dispatch_->Interrupt();
  waiter.join();
}

}  // namespace
}  // namespace quotient::jobs
