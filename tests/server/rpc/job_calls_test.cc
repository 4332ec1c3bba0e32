// Calls about jobs beside submitting, watching, listing and cancelling them.

#include <cstdint>
#include <string>

#include "server/jobs/convert.h"
#include "tests/server/rpc/services_fixture.h"

namespace quotient::rpc {
namespace {

using ::quotient::testing::HasReason;

TEST_F(ServicesTest, AStoppedJobSucceedsAndCanBeDeleted) {
  const std::string name = Submit("model").name();
  runner_.AwaitRuns(1);
  {
    v1::DeleteJobRequest request;
    request.set_name(name);
    v1::DeleteJobResponse response;
    grpc::ClientContext context;
    EXPECT_THAT(Status(jobs_stub_->DeleteJob(&context, request, &response)),
                HasReason(Reason::kJobNotFinished));
  }
  {
    v1::StopJobRequest request;
    request.set_name(name);
    v1::Job job;
    grpc::ClientContext context;
    ASSERT_OK(Status(jobs_stub_->StopJob(&context, request, &job)));
    EXPECT_TRUE(job.stop_requested());
  }
  v1::WatchJobRequest watch;
  watch.set_name(name);
  watch.set_from_sequence(0);
  EXPECT_THAT(WatchToTheEnd(watch), ::testing::Contains("to SUCCEEDED"));
  v1::DeleteJobRequest request;
  request.set_name(name);
  for (const bool is_there : {true, false}) {
    v1::DeleteJobResponse response;
    grpc::ClientContext context;
    const absl::Status status = Status(jobs_stub_->DeleteJob(&context, request, &response));
    EXPECT_EQ(status.ok(), is_there);
    if (!is_there) EXPECT_THAT(status, HasReason(Reason::kJobNotFound));
  }
  request.set_allow_missing(true);
  v1::DeleteJobResponse response;
  grpc::ClientContext context;
  EXPECT_OK(Status(jobs_stub_->DeleteJob(&context, request, &response)));
}

TEST_F(ServicesTest, ARunningJobSaysThatItsResultCouldNotBeStored) {
  storage_failure_ = "the disk is full";
  const std::string running = Submit("model").name();
  runner_.AwaitRuns(1);
  const std::string waiting = Submit("other").name();
  v1::ListJobsResponse listed;
  grpc::ClientContext context;
  ASSERT_OK(Status(jobs_stub_->ListJobs(&context, {}, &listed)));
  ASSERT_EQ(listed.jobs_size(), 2);
  EXPECT_EQ(listed.jobs(0).name(), waiting);
  EXPECT_FALSE(listed.jobs(0).has_progress());
  EXPECT_EQ(listed.jobs(1).name(), running);
  EXPECT_EQ(listed.jobs(1).progress().phase(), "storage");
  EXPECT_EQ(listed.jobs(1).progress().detail(), "the disk is full");
}

TEST_F(ServicesTest, AResultIsLookedUpByContent) {
  runner_.Release();
  v1::LookupResultRequest request;
  *request.mutable_model() = SubmitRequest("model").model();
  const auto lookup = [&](v1::Job* job) {
    grpc::ClientContext context;
    return Status(jobs_stub_->LookupResult(&context, request, job));
  };
  v1::Job found;
  EXPECT_THAT(lookup(&found), HasReason(Reason::kResultNotFound));
  v1::WatchJobRequest watch;
  watch.set_name(Submit("model").name());
  WatchToTheEnd(watch);
  ASSERT_OK(lookup(&found));
  EXPECT_EQ(found.name(), watch.name());
  EXPECT_EQ(found.state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(ServicesTest, WatchingAResultCountsAsAUseOfIt) {
  runner_.Release();
  v1::WatchJobRequest watch;
  watch.set_name(Submit("model").name());
  WatchToTheEnd(watch);
  const std::string id = *jobs::JobIdFromName(watch.name());
  const int64_t end_ms = (*store_->Get(id))->use_ms;
  clock_.AdvanceMs(3'600'000);
  WatchToTheEnd(watch);
  EXPECT_GE((*store_->Get(id))->use_ms, end_ms + 3'600'000);
}

TEST_F(ServicesTest, AJobHasTheTraceOfWhoeverSubmittedIt) {
  const auto submit = [&](absl::string_view model, const std::string& traceparent) {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", traceparent);
    v1::SubmitJobResponse response;
    EXPECT_OK(Status(jobs_stub_->SubmitJob(&context, SubmitRequest(model), &response)));
    return response.job().trace_id();
  };
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  EXPECT_EQ(submit("a", "00-" + trace + "-00f067aa0ba902b7-01"), trace);
  EXPECT_EQ(submit("b", "nonsense"), "");
}

TEST_F(ServicesTest, PoliciesOutOfRangeAreRefused) {
  const auto submit = [&](const v1::JobPolicy& policy) {
    v1::SubmitJobRequest request = SubmitRequest("model");
    *request.mutable_policy() = policy;
    v1::SubmitJobResponse response;
    grpc::ClientContext context;
    const absl::Status status = Status(jobs_stub_->SubmitJob(&context, request, &response));
    if (status.ok()) EXPECT_EQ(response.job().policy().priority(), policy.priority());
    return status;
  };
  v1::JobPolicy policy;
  policy.set_priority(-10);
  policy.mutable_queue_deadline()->set_seconds(60);
  EXPECT_OK(submit(policy));
  policy.set_priority(11);
  EXPECT_THAT(submit(policy), HasReason(Reason::kOptionInvalid));
  for (const int64_t seconds : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    v1::JobPolicy late;
    late.mutable_queue_deadline()->set_seconds(seconds);
    EXPECT_THAT(submit(late), HasReason(Reason::kOptionInvalid)) << seconds;
    late.clear_queue_deadline();
    late.mutable_run_deadline()->set_seconds(seconds);
    EXPECT_THAT(submit(late), HasReason(Reason::kOptionInvalid)) << seconds;
  }
}

TEST_F(ServicesTest, ModelsAreValidatedWithoutAJob) {
  const auto validate = [&](const v1::ModelManifest& model, const std::string& device,
                            v1::ValidateModelResponse* response) {
    v1::ValidateModelRequest request;
    *request.mutable_model() = model;
    request.mutable_options()->set_device(device);
    grpc::ClientContext context;
    return Status(models_stub_->ValidateModel(&context, request, response));
  };
  v1::ValidateModelResponse response;
  ASSERT_OK(validate(SubmitRequest("model").model(), "cpu", &response));
  EXPECT_FALSE(response.has_untouched());
  EXPECT_EQ(response.notes(0), "a note");
  ASSERT_OK(validate(SubmitRequest("odd").model(), "cpu", &response));
  EXPECT_TRUE(response.has_untouched());
  EXPECT_THAT(validate(SubmitRequest("model").model(), "no such device", &response),
              HasReason(Reason::kOptionInvalid));
  v1::ModelManifest missing;
  *missing.mutable_graph() = wire::ToProto(BlobId::Of("absent"));
  EXPECT_THAT(validate(missing, "cpu", &response), HasReason(Reason::kBlobMissing));
  v1::ListJobsResponse jobs;
  grpc::ClientContext context;
  ASSERT_OK(Status(jobs_stub_->ListJobs(&context, {}, &jobs)));
  EXPECT_EQ(jobs.jobs_size(), 0);
}

TEST_F(ServicesTest, AVerificationTakesAPartOfTheThreadsAndTheOnlySlotOfItsClient) {
  runner_.Release();
  v1::SubmitJobRequest submit = SubmitRequest("model");
  submit.mutable_options()->set_threads(12);
  v1::SubmitJobResponse submitted;
  grpc::ClientContext context;
  ASSERT_OK(Status(jobs_stub_->SubmitJob(&context, submit, &submitted)));
  v1::WatchJobRequest watch;
  watch.set_name(submitted.job().name());
  WatchToTheEnd(watch);
  const auto verify = [&] {
    v1::VerifyResultRequest request;
    request.set_name(watch.name());
    v1::VerifyResultResponse response;
    grpc::ClientContext context;
    return Status(jobs_stub_->VerifyResult(&context, request, &response));
  };
  int threads = 0;
  absl::Status meanwhile;
  runner_.on_verify = [&](const jobs::Job& job) {
    threads = job.spec.options.threads;
    meanwhile = verify();
  };
  EXPECT_OK(verify());
  EXPECT_EQ(threads, 3);
  EXPECT_THAT(meanwhile, HasReason(Reason::kQuotaCalls));
  runner_.on_verify = [](const jobs::Job&) {};
  EXPECT_OK(verify());
}

TEST_F(ServicesTest, ResultsAreVerified) {
  v1::VerifyResultRequest request;
  request.set_name(Submit("model").name());
  v1::VerifyResultResponse response;
  const auto verify = [&] {
    grpc::ClientContext context;
    return Status(jobs_stub_->VerifyResult(&context, request, &response));
  };
  EXPECT_THAT(verify(), HasReason(Reason::kJobNotFinished));
  runner_.Release();
  v1::WatchJobRequest watch;
  watch.set_name(request.name());
  WatchToTheEnd(watch);
  ASSERT_OK(verify());
  EXPECT_TRUE(response.is_same());
  EXPECT_EQ(response.comparison_json(), "0") << "the seed";
  request.set_seed(7);
  ASSERT_OK(verify());
  EXPECT_EQ(response.comparison_json(), "7");
  request.set_verify_inputs(-1);
  EXPECT_THAT(verify(), HasReason(Reason::kOptionInvalid));
  request.set_name("jobs/none");
  EXPECT_THAT(verify(), HasReason(Reason::kJobNotFound));
}

TEST_F(ServicesTest, JournalsAreReplayed) {
  v1::ReplayJournalRequest request;
  request.set_name(Submit("model").name());
  v1::ReplayJournalResponse response;
  const auto replay = [&] {
    grpc::ClientContext context;
    return Status(jobs_stub_->ReplayJournal(&context, request, &response));
  };
  EXPECT_THAT(replay(), HasReason(Reason::kJobNotFinished));
  runner_.Release();
  v1::WatchJobRequest watch;
  watch.set_name(request.name());
  WatchToTheEnd(watch);
  ASSERT_OK(replay());
  EXPECT_TRUE(response.is_result());
  EXPECT_EQ(response.model().sha256(), BlobId::Of("model").digest.Hex());
  EXPECT_EQ(response.rewrites(), 3);
  request.set_name("jobs/none");
  EXPECT_THAT(replay(), HasReason(Reason::kJobNotFound));
}

}  // namespace
}  // namespace quotient::rpc
