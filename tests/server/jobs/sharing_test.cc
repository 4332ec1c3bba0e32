// Who gets the job, or the result, of whom.

#include <filesystem>
#include <string>

#include "server/jobs/admission.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::QueueTest;

using SharingTest = QueueTest;

TEST_F(SharingTest, ASharedJobIsTreatedAsWhoAsksForMostWants) {
  SubmitRequest request = Request("model");
  request.policy = {.priority = -2, .queue_ms = 1000, .run_ms = 5000};
  const Job first = MustSubmit(request).job;
  EXPECT_EQ(first.start_by_ms, clock_.UnixMs() + 1000);
  clock_.AdvanceMs(500);
  request.policy = {.priority = 3, .queue_ms = 4000, .run_ms = 2000};
  Job shared = MustSubmit(request).job;
  EXPECT_EQ(shared.id, first.id);
  EXPECT_EQ(shared.policy, (JobPolicy{.priority = 3, .queue_ms = 4000, .run_ms = 5000}));
  EXPECT_EQ(shared.start_by_ms, clock_.UnixMs() + 4000);
  request.policy = {};
  shared = MustSubmit(request).job;
  EXPECT_EQ(shared.start_by_ms, 0);
  EXPECT_EQ(shared.policy.run_ms, 0);
  EXPECT_EQ(MustGet(first.id), shared);
}

TEST_F(SharingTest, NobodyJoinsAJobThatMayEndTooEarlyForIt) {
  SubmitRequest request = Request("model");
  request.policy.run_ms = 5000;
  const std::string id = MustSubmit(request).job.id;
  MustClaim();
  request.policy.run_ms = 4000;
  EXPECT_EQ(MustSubmit(request).job.id, id);
  request.policy.run_ms = 0;
  EXPECT_EQ(MustSubmit(request).disposition, Disposition::kNew);
}

TEST_F(SharingTest, ASharedJobHasTheTurnOfWhoHasFewerJobs) {
  limits_.max_queued = 10;
  Restart();
  for (const char* model : {"a1", "a2", "both"}) {
    SubmitRequest request = Request(model);
    request.client = "a";
    MustSubmit(request);
  }
  SubmitRequest request = Request("both");
  request.client = "b";
  EXPECT_EQ(MustSubmit(request).job.client, "b");
  std::string order;
  for (int i = 0; i < 3; ++i) order += MustClaim().job.client;
  EXPECT_EQ(order, "aba");
}

TEST_F(SharingTest, AJobIsStoppedWhenNobodyWantsAllOfIt) {
  const std::string id = MustSubmit(Request("model", "r1")).job.id;
  MustSubmit(Request("model", "r2"));
  MustSubmit(Request("model", "r3"));
  EXPECT_THAT(admission_->Stop(id, "r9"), HasReason(Reason::kJobNotFound));
  EXPECT_FALSE(admission_->Stop(id, "r1")->stop_requested);
  EXPECT_FALSE(admission_->Stop(id, "r1")->stop_requested);
  EXPECT_FALSE(admission_->Stop(id, "r2")->stop_requested);
  EXPECT_TRUE(admission_->Cancel(id, "r3")->stop_requested);
  EXPECT_EQ(MustGet(id).state, JobState::kQueued);
}

TEST_F(SharingTest, NobodyElseGetsTheResultOfAStoppedJob) {
  const std::string id = MustSubmit(Request("model")).job.id;
  const Claimed claimed = MustClaim();
  ASSERT_OK(admission_->Stop(id, ""));
  const Admitted second = MustSubmit(Request("model"));
  EXPECT_EQ(second.disposition, Disposition::kNew);
  JobResult result = SomeResult();
  result.stopped_early = true;
  ASSERT_OK(dispatch_->Finish(claimed.lease, result));
  EXPECT_EQ(MustSubmit(Request("model")).job.id, second.job.id);
  ASSERT_OK(admission_->Stop(id, ""));
  EXPECT_EQ(MustGet(id).state, JobState::kSucceeded);
}

// The newest of two equal results is found first, and both have the file.
TEST_F(SharingTest, NoResultWithALostFileIsFound) {
  SubmitRequest request = Request("model");
  request.skip_cache_lookup = true;
  for (int i = 0; i < 2; ++i) {
    MustSubmit(request);
    ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  }
  std::filesystem::remove(blobs_->PathOf(SomeResult().model.digest));
  request.skip_cache_lookup = false;
  EXPECT_THAT(admission_->Lookup(request.spec), HasReason(Reason::kResultNotFound));
  const Admitted anew = MustSubmit(request);
  EXPECT_EQ(anew.disposition, Disposition::kNew);
  EXPECT_EQ(MustSubmit(request).job.id, anew.job.id) << "others join it";
}

TEST_F(SharingTest, ACancelledJobDoesNotHideTheResultOfAnEarlierOne) {
  const Job job = MustSubmit(Request("model")).job;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  SubmitRequest anew = Request("model");
  anew.skip_cache_lookup = true;
  ASSERT_OK(admission_->Cancel(MustSubmit(anew).job.id, ""));
  EXPECT_EQ(MustSubmit(Request("model")).job.id, job.id);
}

TEST_F(SharingTest, AskingForAResultIsAUseOfIt) {
  const SubmitRequest request = Request("model", "r1");
  const std::string id = MustSubmit(request).job.id;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  clock_.AdvanceMs(24 * 3'600'000);
  ASSERT_OK_AND_ASSIGN(const Job got, admission_->Get(id));
  EXPECT_EQ(got.id, id);
  EXPECT_EQ(MustGet(id).use_ms, clock_.UnixMs());
  EXPECT_THAT(admission_->Get("none"), HasReason(Reason::kJobNotFound));
  clock_.AdvanceMs(24 * 3'600'000 - 1);
  EXPECT_EQ(MustSubmit(request).job.use_ms, clock_.UnixMs()) << "and so is asking again";
}

TEST_F(SharingTest, AResultCanBeLookedUpWithoutItsModelAndWithoutWork) {
  const JobSpec spec = Request("model").spec;
  EXPECT_THAT(admission_->Lookup(spec), HasReason(Reason::kResultNotFound));
  const Job job = MustSubmit(Request("model")).job;
  EXPECT_THAT(admission_->Lookup(spec), HasReason(Reason::kResultNotFound)) << "it waits";
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  std::filesystem::remove(blobs_->PathOf(spec.model.graph.digest));
  clock_.AdvanceMs(3'600'000);
  ASSERT_OK_AND_ASSIGN(const Job found, admission_->Lookup(spec));
  EXPECT_EQ(found.id, job.id);
  EXPECT_EQ(MustGet(job.id).use_ms, clock_.UnixMs());
  JobSpec other = spec;
  other.options.seed = 7;
  EXPECT_THAT(admission_->Lookup(other), HasReason(Reason::kResultNotFound));
  std::filesystem::remove(blobs_->PathOf(found.result->model.digest));
  EXPECT_THAT(admission_->Lookup(spec), HasReason(Reason::kResultNotFound)) << "it is gone";
}

// Each of them is a row in the store, which no quota bounds.
TEST_F(SharingTest, NotAnyNumberOfRequestsShareAJob) {
  limits_.max_submissions = 3;
  Restart();
  for (const char* id : {"r1", "r2", "r3"}) MustSubmit(Request("model", id));
  const Admitted own = MustSubmit(Request("model", "r4"));
  EXPECT_EQ(own.disposition, Disposition::kNew) << "nobody keeps others from a job";
  EXPECT_EQ(MustSubmit(Request("model", "r5")).job.id, own.job.id);
  EXPECT_EQ(MustSubmit(Request("model", "r1")).disposition, Disposition::kJoined) << "a retry";
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(MustSubmit(Request("model", "r6")).disposition, Disposition::kCacheHit)
        << "it leaves no trace";
  }
}

}  // namespace
}  // namespace quotient::jobs
