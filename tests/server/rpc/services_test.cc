// The services as clients see them: through gRPC.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <prometheus/text_serializer.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/jobs/convert.h"
#include "tests/server/rpc/services_fixture.h"

namespace quotient::rpc {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ServicesTest, AWatcherSeesEverythingFromSnapshotToResult) {
  const v1::Job job = Submit("model");
  runner_.AwaitRuns(1);
  v1::WatchJobRequest request;
  request.set_name(job.name());
  EXPECT_THAT(WatchToTheEnd(request),
              ElementsAre("snapshot RUNNING", "progress", "to SUCCEEDED", "snapshot SUCCEEDED"));
}

TEST_F(ServicesTest, AWatcherWhoComesBackIsToldWhatItMissed) {
  runner_.Release();
  v1::WatchJobRequest request;
  request.set_name(Submit("model").name());
  WatchToTheEnd(request);
  request.set_from_sequence(1);
  EXPECT_THAT(WatchToTheEnd(request), ElementsAre("snapshot SUCCEEDED", "to RUNNING",
                                                  "to SUCCEEDED", "snapshot SUCCEEDED"));
  request.clear_from_sequence();
  EXPECT_THAT(WatchToTheEnd(request), ElementsAre("snapshot SUCCEEDED"));
}

TEST_F(ServicesTest, WatchingNothingIsNotFound) {
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_name("jobs/none");
  const auto reader = jobs_stub_->WatchJob(&context, request);
  v1::WatchJobResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_THAT(Status(reader->Finish()), HasReason(Reason::kJobNotFound));
}

TEST_F(ServicesTest, AWatcherThatLeavesHarmsNothing) {
  const v1::Job job = Submit("model");
  {
    grpc::ClientContext context;
    v1::WatchJobRequest request;
    request.set_name(job.name());
    const auto reader = jobs_stub_->WatchJob(&context, request);
    v1::WatchJobResponse response;
    ASSERT_TRUE(reader->Read(&response));
    context.TryCancel();
    EXPECT_FALSE(reader->Finish().ok());
  }
  v1::WatchJobRequest request;
  request.set_name(job.name());
  EXPECT_EQ(WatchToTheEnd(request).back(), "snapshot SUCCEEDED");
}

TEST_F(ServicesTest, OneClientCannotWatchWithoutEnd) {
  const v1::Job job = Submit("model");
  v1::WatchJobRequest request;
  request.set_name(job.name());
  v1::WatchJobResponse response;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchJobResponse>>> readers;
  for (int i = 0; i < watch_limits_.watches_per_peer; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(jobs_stub_->WatchJob(contexts.back().get(), request));
    ASSERT_TRUE(readers.back()->Read(&response));
  }
  grpc::ClientContext one_too_many;
  const auto reader = jobs_stub_->WatchJob(&one_too_many, request);
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_THAT(Status(reader->Finish()), HasReason(Reason::kQuotaCalls));
  // Slots come back with the ends of the streams.
  runner_.Release();
  for (const auto& open : readers) {
    while (open->Read(&response)) {
    }
    EXPECT_OK(Status(open->Finish()));
  }
  // A little later than these.
  const auto watch = [&] {
    grpc::ClientContext context;
    const auto again = jobs_stub_->WatchJob(&context, request);
    while (again->Read(&response)) {
    }
    return Status(again->Finish());
  };
  absl::Status last = watch();
  for (int i = 0; i < 1000 && !last.ok(); ++i) last = watch();
  EXPECT_OK(last);
}

TEST_F(ServicesTest, AnIntervalBeyondAllBoundsStillBringsProgress) {
  const v1::Job job = Submit("runs");
  runner_.AwaitRuns(1);
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_name(job.name());
  // In milliseconds just short of the largest number.
  request.mutable_min_interval()->set_seconds(9'223'372'036'854'775);
  const auto reader = jobs_stub_->WatchJob(&context, request);
  v1::WatchJobResponse response;
  ASSERT_TRUE(reader->Read(&response));
  const int64_t before_ns = clock_.NowNs();
  clock_.AdvanceMs(1000);
  hub_->PublishProgress({.job_id = job.name().substr(5), .epoch = 1}, {.phase = "search"});
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.has_progress()) << response.ShortDebugString();
  EXPECT_LT(clock_.SecondsSince(before_ns), 10);  // and not in a heartbeat's place
  context.TryCancel();
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(ServicesTest, AJobsFailureIsInTheJob) {
  runner_.Release();
  const v1::Job job = Submit("bad model");
  v1::WatchJobRequest watch;
  watch.set_name(job.name());
  WatchToTheEnd(watch);
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name(job.name());
  v1::Job ended;
  ASSERT_OK(Status(jobs_stub_->GetJob(&context, request, &ended)));
  EXPECT_EQ(ended.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(wire::FromProto(ended.error()), HasReason(Reason::kModelMalformed));
}

TEST_F(ServicesTest, MissingBlobsAreInTheDetails) {
  v1::SubmitJobRequest request = SubmitRequest("model");
  *request.mutable_model()->mutable_graph() = wire::ToProto(BlobId::Of("absent"));
  grpc::ClientContext context;
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_stub_->SubmitJob(&context, request, &response);
  EXPECT_THAT(Status(status), HasReason(Reason::kBlobMissing));
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::PreconditionFailure failure;
  ASSERT_TRUE(details.details(1).UnpackTo(&failure));
  EXPECT_EQ(failure.violations(0).subject(), "blobs/" + BlobId::Of("absent").Text());
}

TEST_F(ServicesTest, ListsPageByPageAndRefusesForeignTokens) {
  for (const char* model : {"a", "b", "c"}) Submit(model);
  v1::ListJobsRequest request;
  request.set_page_size(2);
  v1::ListJobsResponse page;
  {
    grpc::ClientContext context;
    ASSERT_OK(Status(jobs_stub_->ListJobs(&context, request, &page)));
  }
  EXPECT_EQ(page.jobs_size(), 2);
  request.set_page_token(page.next_page_token());
  {
    grpc::ClientContext context;
    ASSERT_OK(Status(jobs_stub_->ListJobs(&context, request, &page)));
  }
  EXPECT_EQ(page.jobs_size(), 1);
  EXPECT_EQ(page.next_page_token(), "");
  request.set_state(v1::JOB_STATE_FAILED);
  {
    grpc::ClientContext context;
    EXPECT_THAT(Status(jobs_stub_->ListJobs(&context, request, &page)),
                HasReason(Reason::kBadPageToken));
  }
}

// All pages, by following tokens; checks that none is large.
std::vector<v1::Job> AllPages(v1::OptimizerService::Stub& stub, v1::ListJobsRequest request) {
  std::vector<v1::Job> jobs;
  do {
    grpc::ClientContext context;
    v1::ListJobsResponse page;
    EXPECT_OK(Status(stub.ListJobs(&context, request, &page)));
    EXPECT_LE(page.ByteSizeLong(), size_t{1100} << 10);
    EXPECT_GT(page.jobs_size(), 0);
    jobs.insert(jobs.end(), page.jobs().begin(), page.jobs().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && !::testing::Test::HasFailure());
  return jobs;
}

TEST_F(ServicesTest, ModelsOfManyFilesDoNotBurstAList) {
  for (const char* model : {"a", "b", "c"}) {
    v1::SubmitJobRequest request = SubmitRequest(model);
    for (int i = 0; i < 450; ++i) {
      auto* file = request.mutable_model()->add_external_files();
      file->set_location(absl::StrCat(std::string(4000, 'x'), i));
      *file->mutable_blob() = request.model().graph();
    }
    grpc::ClientContext context;
    v1::SubmitJobResponse response;
    ASSERT_OK(Status(jobs_stub_->SubmitJob(&context, request, &response)));
  }
  const std::vector<v1::Job> jobs = AllPages(*jobs_stub_, {});
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].model().external_files_size(), 0);
  EXPECT_EQ(jobs[0].options().device(), "cpu");
  grpc::ClientContext context;
  v1::GetJobRequest get;
  get.set_name(jobs[0].name());
  v1::Job whole;
  ASSERT_OK(Status(jobs_stub_->GetJob(&context, get, &whole)));
  EXPECT_EQ(whole.model().external_files_size(), 450);
}

TEST_F(ServicesTest, PagesAreBoundedInBytes) {
  constexpr int kJobs = 300;
  ASSERT_OK(store_->Write([](jobs::JobTransaction& store) -> absl::Status {
    for (int i = 0; i < kJobs; ++i) {
      jobs::Job job{.id = absl::StrCat("long", i), .state = jobs::JobState::kFailed};
      job.spec.model_name = job.spec.external_location = std::string(4000, 'x');
      job.error = MakeError(Reason::kInternal, std::string(100'000, 'e'));
      QUOTIENT_RETURN_IF_ERROR(store.Put(job));
    }
    return absl::OkStatus();
  }));
  v1::ListJobsRequest request;
  request.set_page_size(500);
  const std::vector<v1::Job> jobs = AllPages(*jobs_stub_, request);
  ASSERT_EQ(jobs.size(), static_cast<size_t>(kJobs));
  EXPECT_EQ(jobs.back().name(), "jobs/long0");
  EXPECT_THAT(wire::FromProto(jobs[0].error()), HasReason(Reason::kInternal));
}

TEST_F(ServicesTest, ADamagedBlobIsNotSentAndThenIsMissing) {
  const BlobId id = BlobId::Of("hello");
  const std::string path = blobs_->PathOf(id.digest);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "jello";
  v1::DownloadRequest request;
  *request.mutable_blob() = wire::ToProto(id);
  {
    v1::DownloadResponse response;
    grpc::ClientContext context;
    const auto reader = blobs_stub_->Download(&context, request);
    EXPECT_FALSE(reader->Read(&response));
    EXPECT_THAT(Status(reader->Finish()), HasReason(Reason::kBlobCorrupt));
  }
  v1::FindMissingRequest find;
  *find.add_blobs() = request.blob();
  v1::FindMissingResponse missing;
  grpc::ClientContext context;
  ASSERT_OK(Status(blobs_stub_->FindMissing(&context, find, &missing)));
  EXPECT_EQ(missing.missing_size(), 1);
}

TEST_F(ServicesTest, AListCanBeFilteredByModelClientAndTime) {
  const v1::Job a = Submit("a");
  Submit("b");
  v1::ListJobsRequest request;
  request.set_model_sha256(BlobId::Of("a").digest.Hex());
  request.set_client(a.client());
  EXPECT_NE(a.client(), "");
  std::vector<v1::Job> jobs = AllPages(*jobs_stub_, request);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].name(), a.name());
  v1::ListJobsResponse none;
  for (const google::protobuf::Timestamp& time :
       {a.create_time(), google::protobuf::Timestamp() /* 1970 */}) {
    *request.mutable_created_before() = time;
    grpc::ClientContext context;
    ASSERT_OK(Status(jobs_stub_->ListJobs(&context, request, &none)));
    EXPECT_EQ(none.jobs_size(), 0);
  }
  request.mutable_created_before()->set_seconds(INT64_MAX);
  EXPECT_EQ(AllPages(*jobs_stub_, request).size(), 1u);
  request.set_model_sha256("nonsense");
  grpc::ClientContext context;
  EXPECT_THAT(Status(jobs_stub_->ListJobs(&context, request, &none)),
              HasReason(Reason::kBadDigest));
}

TEST_F(ServicesTest, CancelEndsARunningJob) {
  const v1::Job job = Submit("model");
  runner_.AwaitRuns(1);
  v1::CancelJobRequest request;
  request.set_name(job.name());
  v1::Job answer;
  grpc::ClientContext context;
  ASSERT_OK(Status(jobs_stub_->CancelJob(&context, request, &answer)));
  v1::WatchJobRequest watch;
  watch.set_name(job.name());
  EXPECT_EQ(WatchToTheEnd(watch).back(), "snapshot CANCELLED");
}

TEST_F(ServicesTest, ModelsAreInspected) {
  v1::InspectModelRequest request;
  *request.mutable_model()->mutable_graph() = wire::ToProto(MustPut("model"));
  request.set_model_name("net.onnx");
  v1::InspectModelResponse response;
  grpc::ClientContext context;
  ASSERT_OK(Status(models_stub_->InspectModel(&context, request, &response)));
  EXPECT_EQ(response.summary_json(), "{\"fake\":\"net.onnx\"}\n");
}

// The bodies of grpc.health.v1 are not installed; wrappers of the same wire form take their place.
TEST_F(ServicesTest, HealthFollowsTheServersReadiness) {
  const auto check = [&](const std::string& service = "") {
    google::protobuf::Int32Value serving;
    const grpc::Status status = Call("/grpc.health.v1.Health/Check", &serving, service);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return serving.value();
  };
  EXPECT_EQ(check(), 1);  // SERVING
  server_->SetServing(false);
  EXPECT_EQ(check(), 2);  // NOT_SERVING
  EXPECT_EQ(check("live"), 1);
}

TEST_F(ServicesTest, CallsAreCountedButTheirNamesAreNotTheCallersToChoose) {
  google::protobuf::Int32Value response;
  EXPECT_EQ(Call("/made.up/Method", &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(Call("/grpc.health.v1.Health/Check", &response).ok());
  Submit("model");
  const std::string text = prometheus::TextSerializer().Serialize(metrics_.registry()->Collect());
  EXPECT_THAT(text, Not(HasSubstr("made.up")));
  EXPECT_THAT(text,
              HasSubstr("grpc_server_started_total{grpc_method=\"SubmitJob\","
                        "grpc_service=\"quotient.v1.OptimizerService\",grpc_type=\"unary\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"SubmitJob\","
                        "grpc_service=\"quotient.v1.OptimizerService\",grpc_type=\"unary\"} 1"));
  EXPECT_THAT(text, HasSubstr("grpc_service=\"grpc.health.v1.Health\""));
}

TEST_F(ServicesTest, ReflectionIsThere) {
  const auto channel = grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  grpc::Status status;
  const auto next = [&queue] {
    void* tag;
    bool ok;
    queue.Next(&tag, &ok);
  };
  call->StartCall(nullptr);
  next();
  call->WritesDone(nullptr);
  next();
  call->Finish(&status, nullptr);
  next();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace quotient::rpc
