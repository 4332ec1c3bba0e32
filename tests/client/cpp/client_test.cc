// The client library against a real server in this process.

#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/blob_client.h"
#include "client/cpp/connection.h"
#include "client/cpp/job_client.h"
#include "client/cpp/status.h"
#include "google/rpc/status.pb.h"
#include "proto/wire/digest.h"
#include "server/rpc/status.h"
#include "tests/server/support/in_process_server.h"
#include "tests/support/clock_set_back.h"

namespace quotient::client {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::ServerTest;
using ::quotient::testing::StatusIs;

class ClientTest : public ServerTest {
 protected:
  ClientTest() {
    auto connection = Connection::Open({.address = address()}, &interrupt_);
    EXPECT_OK(connection);
    connection_ = *std::move(connection);
    blob_client_ = std::make_unique<BlobClient>(connection_.get());
    job_client_ = std::make_unique<JobClient>(connection_.get());
  }

  v1::Job Submit(absl::string_view model) {
    v1::SubmitJobRequest request;
    const BlobId id = BlobId::Of(model);
    EXPECT_OK(blob_client_->Upload(id, model));
    *request.mutable_model()->mutable_graph() = wire::ToProto(id);
    auto response = job_client_->Submit(request);
    EXPECT_OK(response);
    return response->job();
  }

  absl::StatusOr<std::string> Download(const BlobId& id) {
    std::string bytes;
    QUOTIENT_RETURN_IF_ERROR(blob_client_->Download(id, [&](absl::string_view chunk) {
      absl::StrAppend(&bytes, chunk);
      return absl::OkStatus();
    }));
    return bytes;
  }

  Interrupt interrupt_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<BlobClient> blob_client_;
  std::unique_ptr<JobClient> job_client_;
};

TEST_F(ClientTest, BytesGoThereAndBack) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5} << 20}) {
    const std::string bytes(size, 'x');
    const BlobId id = BlobId::Of(bytes);
    ASSERT_OK(blob_client_->Upload(id, bytes));
    ASSERT_OK(blob_client_->Upload(id, bytes));  // the second time there is nothing to do
    ASSERT_OK_AND_ASSIGN(const std::string back, Download(id));
    EXPECT_EQ(back == bytes, true) << size;
  }
}

TEST_F(ClientTest, ABlobThatIsNotThereIsNotFound) {
  EXPECT_THAT(Download(BlobId::Of("absent")), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ClientTest, TheInterruptEndsADownload) {
  const std::string bytes(size_t{64} << 20, 'x');  // far more than is on its way at any time
  const BlobId id = BlobId::Of(bytes);
  ASSERT_OK(blob_client_->Upload(id, bytes));
  EXPECT_THAT(blob_client_->Download(id,
                                     [this](absl::string_view) {
                                       interrupt_.Trigger();
                                       return absl::OkStatus();
                                     }),
              HasReason(Reason::kCancelled));
}

TEST_F(ClientTest, AJobIsFollowedToItsEnd) {
  runner_.Release();
  ASSERT_OK_AND_ASSIGN(const v1::Job job,
                       job_client_->Watch(Submit("model").name(), [](const auto&) {}));
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(ClientTest, AWatchOutlivesARestartOfTheServer) {
  const v1::Job submitted = Submit("model");
  bool restarted = false;
  std::vector<v1::JobState> states;
  absl::BlockingCounter progress(1);
  std::jthread restarter([&] {
    progress.Wait();
    runner_.AwaitRuns(1);
    RestartServer();
    runner_.Release();
  });
  ASSERT_OK_AND_ASSIGN(const v1::Job job,
                       job_client_->Watch(submitted.name(), [&](const v1::WatchJobResponse& event) {
                         if (event.has_transition()) states.push_back(event.transition().to());
                         if (event.has_progress() && !std::exchange(restarted, true)) {
                           progress.DecrementCount();
                         }
                       }));
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  // Submitted, claimed, handed back, claimed again, done: none of it was missed.
  EXPECT_THAT(states, ::testing::ElementsAre(v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING,
                                             v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING,
                                             v1::JOB_STATE_SUCCEEDED));
}

TEST_F(ClientTest, AWatchTellsHowTheJobGotThere) {
  const v1::Job submitted = Submit("model");
  runner_.Release();
  ASSERT_OK(job_client_->Watch(submitted.name(), [](const auto&) {}));
  std::vector<std::string> reasons;
  ASSERT_OK(job_client_->Watch(submitted.name(), [&](const v1::WatchJobResponse& event) {
    if (event.has_transition()) reasons.push_back(event.transition().reason());
  }));
  EXPECT_THAT(reasons, ::testing::ElementsAre("submitted", "claimed", ::testing::_));
}

TEST_F(ClientTest, TheInterruptEndsAWatchAndLeavesTheJob) {
  const v1::Job submitted = Submit("model");
  std::jthread user([&] {
    runner_.AwaitRuns(1);
    interrupt_.Trigger();
  });
  EXPECT_THAT(job_client_->Watch(submitted.name(), [](const auto&) {}),
              HasReason(Reason::kCancelled));
  EXPECT_EQ(MustGet(submitted.name().substr(5)).state, jobs::JobState::kRunning);
}

TEST_F(ClientTest, ListsAcrossPages) {
  for (const char* model : {"a", "b", "c"}) Submit(model);
  ASSERT_OK_AND_ASSIGN(const auto jobs, job_client_->List({}, 2));
  EXPECT_EQ(jobs.size(), 2u);
  v1::ListJobsRequest failures;
  failures.set_state(v1::JOB_STATE_FAILED);
  ASSERT_OK_AND_ASSIGN(const auto failed, job_client_->List(failures, 10));
  EXPECT_TRUE(failed.empty());
}

// --- a server that answers anything ---

class LyingServer : public v1::BlobService::Service {
 public:
  LyingServer() : capabilities_(v1::Capabilities()) {
    server_ = *rpc::GrpcServer::Start({.listen = "127.0.0.1:0"}, {this, &capabilities_}, {});
  }
  const std::string& address() const { return server_->address(); }

  grpc::Status StartUpload(grpc::ServerContext* /*context*/,
                           const v1::StartUploadRequest* /*request*/,
                           v1::StartUploadResponse* response) override {
    response->set_upload_id("id");
    absl::MutexLock lock(&mutex_);
    response->set_committed_offset(committed_offset_);
    return grpc::Status::OK;
  }
  grpc::Status Upload(grpc::ServerContext* /*context*/,
                      grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override {
    v1::UploadRequest request;
    while (reader->Read(&request)) {
      absl::MutexLock lock(&mutex_);
      received_ += request.data();
    }
    response->set_done(true);
    return grpc::Status::OK;
  }
  grpc::Status Download(grpc::ServerContext* /*context*/, const v1::DownloadRequest* /*request*/,
                        grpc::ServerWriter<v1::DownloadResponse>* writer) override {
    v1::DownloadResponse response;
    response.set_data("more and more");
    while (writer->Write(response)) {
    }
    return grpc::Status::OK;
  }

  void SetCommittedOffset(int64_t offset) {
    absl::MutexLock lock(&mutex_);
    committed_offset_ = offset;
  }
  std::string received() const {
    absl::MutexLock lock(&mutex_);
    return received_;
  }

 private:
  mutable absl::Mutex mutex_;
  int64_t committed_offset_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string received_ ABSL_GUARDED_BY(mutex_);
  rpc::CapabilitiesService capabilities_;  // chunks of at most 0 bytes
  std::unique_ptr<rpc::GrpcServer> server_;
};

class LyingServerTest : public ::testing::Test {
 protected:
  LyingServerTest() {
    auto connection = Connection::Open({.address = server_.address()}, &interrupt_);
    EXPECT_OK(connection);
    connection_ = *std::move(connection);
    blobs_ = std::make_unique<BlobClient>(connection_.get());
  }

  LyingServer server_;
  Interrupt interrupt_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<BlobClient> blobs_;
};

TEST_F(LyingServerTest, AnOffsetOutsideOfTheBytesIsAnError) {
  for (const int64_t offset : {int64_t{-1}, int64_t{6}, std::numeric_limits<int64_t>::max()}) {
    server_.SetCommittedOffset(offset);
    EXPECT_THAT(blobs_->Upload(BlobId::Of("hello"), "hello"), HasReason(Reason::kInternal));
  }
}

TEST_F(LyingServerTest, ABoundOfNoBytesPerChunkIsNoBound) {
  EXPECT_OK(blobs_->Upload(BlobId::Of("hello"), "hello"));
  EXPECT_EQ(server_.received(), "hello");
}

TEST_F(LyingServerTest, ADownloadEndsWhereTheBlobShould) {
  size_t taken = 0;
  EXPECT_THAT(blobs_->Download(BlobId::Of(std::string(100, 'x')),
                               [&](absl::string_view bytes) {
                                 taken += bytes.size();
                                 return absl::OkStatus();
                               }),
              HasReason(Reason::kBlobCorrupt));
  EXPECT_LE(taken, 100u);
}

// A server that deletes a job and then loses the answer.
class ForgetfulServer : public v1::OptimizerService::Service {
 public:
  ForgetfulServer() {
    auto server = rpc::GrpcServer::Start({.listen = "127.0.0.1:0"}, {this, &capabilities_}, {});
    EXPECT_OK(server);
    server_ = *std::move(server);
  }
  ~ForgetfulServer() override { server_->Shutdown(absl::Seconds(5)); }

  const std::string& address() const { return server_->address(); }
  int calls() const { return calls_; }

  grpc::Status DeleteJob(grpc::ServerContext* /*context*/, const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse* /*response*/) override {
    ++calls_;
    if (request->name() == "jobs/there" && calls_ == 1) {
      return {grpc::StatusCode::UNAVAILABLE, "the connection is gone"};
    }
    if (request->allow_missing()) return grpc::Status::OK;
    return rpc::ToGrpc(MakeError(Reason::kJobNotFound, "no such job"));
  }

 private:
  std::atomic<int> calls_ = 0;
  rpc::CapabilitiesService capabilities_{v1::Capabilities()};
  std::unique_ptr<rpc::GrpcServer> server_;
};

TEST(DeleteTest, AJobThatIsGoneAfterALostAnswerWasDeleted) {
  for (const char* name : {"jobs/there", "jobs/nowhere"}) {
    const bool is_there = name == std::string("jobs/there");
    ForgetfulServer server;
    Interrupt interrupt;
    ASSERT_OK_AND_ASSIGN(const auto connection,
                         Connection::Open({.address = server.address()}, &interrupt));
    const absl::Status deleted = JobClient(connection.get()).Delete(name);
    EXPECT_EQ(server.calls(), is_there ? 2 : 1);
    EXPECT_EQ(deleted.ok(), is_there) << deleted;
    if (!is_there) EXPECT_THAT(deleted, HasReason(Reason::kJobNotFound));
  }
}

TEST(ConnectionTest, NobodyThereIsUnavailableAndNamed) {
  Interrupt interrupt;
  // Port 9 is "discard", which nobody serves.
  const auto connection = Connection::Open(
      {.address = "127.0.0.1:9", .first_patience = absl::Milliseconds(50)}, &interrupt);
  EXPECT_THAT(connection, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(std::string(connection.status().message()), ::testing::HasSubstr("127.0.0.1:9"));
}

TEST(RetryTest, OnlyUnavailableIsRepeatedAndOnlyForSoLong) {
  Interrupt interrupt;
  EXPECT_FALSE(Retry(absl::Hours(1), &interrupt).Again(absl::InternalError("")));
  EXPECT_FALSE(Retry(absl::Hours(1), &interrupt).Again(absl::OkStatus()));
  Retry retry(absl::Milliseconds(1), &interrupt);
  while (retry.Again(absl::UnavailableError(""))) {
  }
  interrupt.Trigger();
  EXPECT_FALSE(Retry(absl::Hours(1), &interrupt).Again(absl::UnavailableError("")));
}

TEST(RetryTest, PatienceMayHaveNoEnd) {
  const Interrupt interrupt;
  EXPECT_TRUE(Retry(absl::InfiniteDuration(), &interrupt).Again(absl::UnavailableError("")));
}

TEST(RetryTest, PatienceIsNoLongerIfTheMachinesClockIsSetBack) {
  Interrupt interrupt;
  std::optional<Retry> retry;
  EXPECT_TRUE(testing::IgnoresClockSetBack([&] {
    retry.emplace(absl::Milliseconds(1), &interrupt);
    retry->Again(absl::UnavailableError(""));
  }));
  EXPECT_FALSE(retry->Again(absl::UnavailableError(""))) << "the clock was set back meanwhile";
}

TEST(InterruptTest, HandlersRunOnceAndNotAfterTheirEnd) {
  Interrupt interrupt;
  int calls = 0;
  {
    const Interrupt::Handler gone(&interrupt, [&] { ++calls; });
  }
  const Interrupt::Handler handler(&interrupt, [&] { ++calls; });
  interrupt.Trigger();
  interrupt.Trigger();
  EXPECT_EQ(calls, 1);
  const Interrupt::Handler late(&interrupt, [&] { ++calls; });
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(interrupt.WaitFor(absl::Hours(1)));
}

TEST(StatusTest, AServerThatIsSilentOrHangsUpCountsAsAway) {
  EXPECT_THAT(FromGrpc(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "late")),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(FromGrpc(grpc::Status(grpc::StatusCode::CANCELLED, "")),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(StatusTest, AFailureIsAFailureWhateverItsDetailsSay) {
  google::rpc::Status details;
  details.set_message("all is well");
  EXPECT_THAT(FromGrpc(grpc::Status(grpc::StatusCode::INTERNAL, "", details.SerializeAsString())),
              StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace quotient::client
