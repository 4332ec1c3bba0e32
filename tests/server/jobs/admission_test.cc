#include "server/jobs/admission.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "tests/server/support/faulty_stores.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::QueueTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using AdmissionTest = QueueTest;

TEST_F(AdmissionTest, ASubmittedJobIsQueuedAndKept) {
  const Admitted admitted = MustSubmit(Request("model"));
  EXPECT_EQ(admitted.disposition, Disposition::kNew);
  EXPECT_EQ(MustGet(admitted.job.id), admitted.job);
  EXPECT_EQ(admitted.job.state, JobState::kQueued);
  EXPECT_EQ(admitted.job.sequence, 1);
  EXPECT_THAT(log_.Take(), ElementsAre("QUEUED>QUEUED submitted", "submission 0"));
}

TEST_F(AdmissionTest, ARepeatedRequestReturnsTheSameJob) {
  const SubmitRequest request = Request("model", "r1");
  const Admitted first = MustSubmit(request);
  EXPECT_EQ(MustSubmit(request).job.id, first.job.id);
}

TEST_F(AdmissionTest, ARepeatedRequestReturnsTheSameJobFromANewerEngineToo) {
  const SubmitRequest request = Request("model", "r1");
  const Admitted first = MustSubmit(request);
  engine_version_ = "engine 2";
  Restart();
  EXPECT_EQ(MustSubmit(request).job.id, first.job.id);
}

TEST_F(AdmissionTest, ARequestIdWithAnotherPayloadIsRefused) {
  MustSubmit(Request("model", "r1"));
  EXPECT_THAT(admission_->Submit(Request("other", "r1")), HasReason(Reason::kRequestIdReused));
}

TEST_F(AdmissionTest, EqualContentJoinsTheWaitingAndTheRunningJob) {
  const Admitted first = MustSubmit(Request("model"));
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kJoined);
  MustClaim();
  const Admitted third = MustSubmit(Request("model"));
  EXPECT_EQ(third.disposition, Disposition::kJoined);
  EXPECT_EQ(third.job.id, first.job.id);
}

TEST_F(AdmissionTest, EqualContentFindsTheResult) {
  const Admitted first = MustSubmit(Request("model"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  const Admitted second = MustSubmit(Request("model"));
  EXPECT_EQ(second.disposition, Disposition::kCacheHit);
  EXPECT_EQ(second.job.id, first.job.id);
}

TEST_F(AdmissionTest, WhoFindsAResultLeavesNothingInTheStore) {
  const Admitted first = MustSubmit(Request("model"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  for (int i = 0; i < 3; ++i) MustSubmit(Request("model"));
  int submissions = 0;
  ASSERT_OK(store_->Write([&](JobTransaction& transaction) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(submissions, transaction.CountWishes(first.job.id));
    return absl::OkStatus();
  }));
  EXPECT_EQ(submissions, 1);
}

TEST_F(AdmissionTest, ADeviceThatStandsForAnotherIsResolvedWhenTheJobIsAccepted) {
  SubmitRequest request = Request("model");
  request.spec.options.device = "auto";
  const Admitted first = MustSubmit(request);
  EXPECT_EQ(first.job.spec.options.device, "cpu");
  EXPECT_EQ(first.job.device_fingerprint, fingerprint_);
  request.spec.options.device = "cpu";
  EXPECT_EQ(MustSubmit(request).job.id, first.job.id);
}

// Two servers, one after the other, with the same data and with different libraries.
TEST_F(AdmissionTest, ResultsOfAnotherLibraryAreNotShared) {
  const Admitted first = MustSubmit(Request("model"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  fingerprint_ = "cpu; a core; oneDNN 2.0";
  Restart();
  const Admitted second = MustSubmit(Request("model"));
  EXPECT_EQ(second.disposition, Disposition::kNew);
  EXPECT_NE(second.job.action_key, first.job.action_key);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  fingerprint_ = first.job.device_fingerprint;
  Restart();
  EXPECT_EQ(MustSubmit(Request("model")).job.id, first.job.id);
}

// The device of a job that waits is another one once its server was started anew.
TEST_F(AdmissionTest, AResultIsFoundByTheDeviceThatMadeIt) {
  const std::string old_device = fingerprint_;
  const Admitted waiting = MustSubmit(Request("model"));
  fingerprint_ = "cpu; another core; oneDNN 1.0";
  Restart();
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  const Job done = MustGet(waiting.job.id);
  EXPECT_EQ(done.device_fingerprint, fingerprint_);
  EXPECT_NE(done.action_key, waiting.job.action_key);
  EXPECT_EQ(MustSubmit(Request("model")).job.id, done.id);
  fingerprint_ = old_device;
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kNew);
}

TEST_F(AdmissionTest, ADeviceThatIsNotThereTakesNoNewJobs) {
  const SubmitRequest request = Request("model", "r1");
  const Admitted first = MustSubmit(request);
  no_device_ = MakeError(Reason::kDeviceNotPresent, "no library");
  EXPECT_THAT(admission_->Submit(Request("model")),
              HasReason(Reason::kDeviceNotPresent, HasSubstr("no library")));
  EXPECT_EQ(MustSubmit(request).job.id, first.job.id) << "it was accepted before";
}

TEST_F(AdmissionTest, SkippingTheCacheStartsAJobOfItsOwn) {
  MustSubmit(Request("model"));
  SubmitRequest request = Request("model");
  request.skip_cache_lookup = true;
  EXPECT_EQ(MustSubmit(request).disposition, Disposition::kNew);
}

TEST_F(AdmissionTest, ARefusedModelIsRefusedAgainWithoutRunning) {
  MustSubmit(Request("model"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, MakeError(Reason::kModelMalformed, "no")));
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kCacheHit);
}

TEST_F(AdmissionTest, AFailureOfOursIsTriedAgain) {
  MustSubmit(Request("model"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, MakeError(Reason::kInternal, "oops")));
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kNew);
}

TEST_F(AdmissionTest, ACancelledJobIsNotJoined) {
  const Admitted first = MustSubmit(Request("model"));
  ASSERT_OK(admission_->Cancel(first.job.id, ""));
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kNew);
}

TEST_F(AdmissionTest, AResultWhoseBlobsAreGoneIsMadeAnew) {
  MustSubmit(Request("model"));
  JobResult result = SomeResult();
  result.model = BlobId::Of("never stored");
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, result));
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kNew);
}

TEST_F(AdmissionTest, AResultThatAFailingDeviceMadeWorseIsNotGivenToEqualJobs) {
  const Admitted first = MustSubmit(Request("model"));
  JobResult result = SomeResult();
  result.device_failed = true;
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, result));
  const Admitted second = MustSubmit(Request("model"));
  EXPECT_EQ(second.disposition, Disposition::kNew);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  const Admitted third = MustSubmit(Request("model"));
  EXPECT_EQ(third.disposition, Disposition::kCacheHit);
  EXPECT_EQ(third.job.id, second.job.id);
  EXPECT_NE(third.job.id, first.job.id);
}

// As after a restart: this process has not read the result yet.
TEST_F(AdmissionTest, AResultThatWasDamagedOnTheDiskIsMadeAnew) {
  const Admitted first = MustSubmit(Request("model"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  std::ofstream(blobs_->PathOf(Digest::Of("result"))) << "RESULT";
  blobs_ = *store::DiskBlobStore::Open(dir_ / "blobs", {.min_free_bytes = 0});
  Restart();
  const Admitted second = MustSubmit(Request("model"));
  EXPECT_EQ(second.disposition, Disposition::kNew);
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  EXPECT_EQ(MustSubmit(Request("model")).job.id, second.job.id);
}

TEST_F(AdmissionTest, TheServerDecidesOnThreadsWhereTheClientDoesNot) {
  limits_.default_threads = 3;
  Restart();
  SubmitRequest request = Request("model");
  EXPECT_EQ(MustSubmit(request).job.spec.options.threads, 3);
  request.spec.options.threads = 3;
  EXPECT_EQ(MustSubmit(request).disposition, Disposition::kJoined);
  request.spec.options.threads = 1;
  EXPECT_EQ(MustSubmit(request).job.spec.options.threads, 1);
}

TEST_F(AdmissionTest, MissingBlobsAreNamed) {
  SubmitRequest request = Request("model");
  const BlobId missing = BlobId::Of("not uploaded");
  request.spec.model.external_files["w"] = missing;
  EXPECT_THAT(admission_->Submit(request),
              HasReason(Reason::kBlobMissing, HasSubstr(missing.Text())));
}

TEST_F(AdmissionTest, ASnapshotOfTheDeviceMustBeThereLikeTheModel) {
  SubmitRequest request = Request("model");
  request.spec.options.device = optimize::SnapshotDevice("a snapshot");
  EXPECT_THAT(admission_->Submit(request),
              HasReason(Reason::kBlobMissing, AllOf(HasSubstr(BlobId::Of("a snapshot").Text()),
                                                    HasSubstr("--device-snapshot FILE"))));
  MustPut("a snapshot");
  EXPECT_EQ(MustSubmit(request).disposition, Disposition::kNew);
  EXPECT_EQ(MustSubmit(Request("model")).disposition, Disposition::kNew);
}

TEST_F(AdmissionTest, BadOptionsAreRefusedBeforeAnythingIsStored) {
  SubmitRequest request = Request("model");
  request.spec.options.strategy = "magic";
  EXPECT_THAT(admission_->Submit(request),
              HasReason(Reason::kOptionInvalid, HasSubstr("strategy")));
  EXPECT_TRUE(log_.Take().empty());
}

TEST_F(AdmissionTest, AnExternalLocationMustBeAPlainName) {
  for (const char* name : {"", ".", "..", "a/b", "/etc/passwd"}) {
    SubmitRequest request = Request("model");
    request.spec.external_location = name;
    EXPECT_THAT(admission_->Submit(request), HasReason(Reason::kOptionInvalid)) << name;
  }
}

TEST_F(AdmissionTest, AFullDiskTakesNoNewJobAndStillAnswers) {
  const std::string waiting = MustSubmit(Request("a")).job.id;
  room_ = MakeError(Reason::kStorageDown, "the disk is nearly full");
  EXPECT_THAT(admission_->Submit(Request("b")), HasReason(Reason::kStorageDown));
  EXPECT_EQ(MustSubmit(Request("a")).job.id, waiting);
}

TEST_F(AdmissionTest, AFullQueueTurnsJobsAway) {
  for (const char* model : {"a", "b", "c"}) MustSubmit(Request(model));
  EXPECT_THAT(admission_->Submit(Request("d")), HasReason(Reason::kQueueFull));
  EXPECT_EQ(MustSubmit(Request("a")).disposition, Disposition::kJoined);
}

TEST_F(AdmissionTest, ADrainingServerTakesNothing) {
  admission_->Drain();
  EXPECT_THAT(admission_->Submit(Request("model")), HasReason(Reason::kDraining));
}

TEST_F(AdmissionTest, CancellingIsIdempotent) {
  const std::string id = MustSubmit(Request("model")).job.id;
  log_.Take();
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const Job job, admission_->Cancel(id, ""));
    EXPECT_EQ(job.state, JobState::kCancelled);
  }
  EXPECT_THAT(log_.Take(), ElementsAre("QUEUED>CANCELLED cancel"));
  EXPECT_THAT(admission_->Cancel("nobody", ""), HasReason(Reason::kJobNotFound));
}

TEST_F(AdmissionTest, ASharedJobEndsWhenTheLastSubmissionIsWithdrawn) {
  const std::string id = MustSubmit(Request("model", "r1")).job.id;
  MustSubmit(Request("model", "r2"));
  ASSERT_OK_AND_ASSIGN(Job job, admission_->Cancel(id, "r1"));
  EXPECT_EQ(job.state, JobState::kQueued);
  ASSERT_OK_AND_ASSIGN(job, admission_->Cancel(id, "r1"));  // a repeated call changes nothing
  EXPECT_EQ(job.state, JobState::kQueued);
  ASSERT_OK_AND_ASSIGN(job, admission_->Cancel(id, "r2"));
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_THAT(admission_->Cancel(id, "r3"), HasReason(Reason::kJobNotFound));
}

TEST_F(AdmissionTest, RequestIdsAreForgottenAfterADayUnlessTheirJobGoesOn) {
  MustSubmit(Request("done", "r1"));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  MustSubmit(Request("waiting", "r2"));
  clock_.AdvanceMs(Admission::kRequestIdMs + 1);
  ASSERT_OK(admission_->ForgetOldRequests());
  EXPECT_OK(admission_->Submit(Request("another", "r1")));
  EXPECT_THAT(admission_->Submit(Request("another", "r2")), HasReason(Reason::kRequestIdReused));
}

TEST_F(AdmissionTest, AClientCannotFillTheQueueAlone) {
  limits_ = {.max_queued = 3, .max_queued_per_client = 2};
  Restart();
  for (const char* model : {"a", "b"}) {
    SubmitRequest request = Request(model);
    request.client = "greedy";
    MustSubmit(request);
  }
  SubmitRequest third = Request("c");
  third.client = "greedy";
  EXPECT_THAT(admission_->Submit(third), HasReason(Reason::kQuotaJobs, HasSubstr("2 jobs")));
  third.client = "modest";
  EXPECT_EQ(MustSubmit(third).disposition, Disposition::kNew);
  EXPECT_THAT(refusals_, ElementsAre(HasReason(Reason::kQuotaJobs)));
}

TEST_F(AdmissionTest, ARequestIdBelongsToItsPolicyToo) {
  SubmitRequest request = Request("model", "r1");
  MustSubmit(request);
  request.policy.priority = 1;
  EXPECT_THAT(admission_->Submit(request), HasReason(Reason::kRequestIdReused));
}

TEST_F(AdmissionTest, AStopIsNotedOnceAndKeptOverARestart) {
  const std::string id = MustSubmit(Request("model")).job.id;
  MustClaim();
  log_.Take();
  ASSERT_OK_AND_ASSIGN(const Job stopped, admission_->Stop(id, ""));
  EXPECT_TRUE(stopped.stop_requested);
  EXPECT_EQ(stopped.state, JobState::kRunning);
  ASSERT_OK(admission_->Stop(id, ""));
  EXPECT_THAT(log_.Take(), ElementsAre("RUNNING>RUNNING stop_requested"));
  Restart();
  ASSERT_OK(dispatch_->RecoverAll({}));
  EXPECT_TRUE(MustClaim().job.stop_requested);
  EXPECT_THAT(admission_->Stop("none", ""), HasReason(Reason::kJobNotFound));
}

TEST_F(AdmissionTest, OnlyAJobThatHasEndedCanBeDeleted) {
  const std::string id = MustSubmit(Request("model", "r1")).job.id;
  EXPECT_THAT(admission_->Delete(id, false),
              HasReason(Reason::kJobNotFinished, HasSubstr("QUEUED")));
  ASSERT_OK(dispatch_->Finish(MustClaim().lease, SomeResult()));
  ASSERT_OK(admission_->Delete(id, false));
  EXPECT_THAT(admission_->Delete(id, false), HasReason(Reason::kJobNotFound));
  EXPECT_OK(admission_->Delete(id, /*allow_missing=*/true)) << "a repetition";
  EXPECT_EQ(MustSubmit(Request("model", "r1")).disposition, Disposition::kNew);
}

// A store on a full disk, which has made room for a write when one has failed.
class StoreOnAFullDisk : public testing::FaultyJobStore {
 public:
  StoreOnAFullDisk(std::unique_ptr<JobStore> store, testing::Fault* fault)
      : FaultyJobStore(std::move(store), fault), fault_(*fault) {}

  absl::Status Write(WriteFunction write) override {
    const absl::Status status = FaultyJobStore::Write(write);
    fault_.Set(false);
    return status;
  }

 private:
  testing::Fault& fault_;
};

TEST_F(AdmissionTest, AJobIsDeletedOnAFullDiskToo) {
  const std::string id = MustSubmit(Request("model")).job.id;
  ASSERT_OK(admission_->Cancel(id, ""));
  testing::Fault full;
  store_ = std::make_unique<StoreOnAFullDisk>(std::move(store_), &full);
  Restart();
  full.Set(true);
  ASSERT_OK(admission_->Delete(id, false));
  EXPECT_THAT(admission_->Get(id), HasReason(Reason::kJobNotFound));
  full.Set(true);
  EXPECT_THAT(admission_->Submit(Request("other")), HasReason(Reason::kStorageDown))
      << "what adds something waits";
}

}  // namespace
}  // namespace quotient::jobs
