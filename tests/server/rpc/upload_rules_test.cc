// Uploads that do not keep to the rules.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/server/rpc/services_fixture.h"

namespace quotient::rpc {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::StatusIs;

class UploadRulesTest : public ServicesTest {
 protected:
  std::string Start(absl::string_view content) {
    v1::StartUploadRequest request;
    *request.mutable_blob() = wire::ToProto(BlobId::Of(content));
    v1::StartUploadResponse response;
    grpc::ClientContext context;
    EXPECT_OK(Status(blobs_stub_->StartUpload(&context, request, &response)));
    return response.upload_id();
  }

  absl::Status Upload(const std::vector<v1::UploadRequest>& requests) {
    grpc::ClientContext context;
    v1::UploadResponse response;
    const auto writer = blobs_stub_->Upload(&context, &response);
    for (const v1::UploadRequest& request : requests) {
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    return Status(writer->Finish());
  }

  static v1::UploadRequest Header(const std::string& id, int64_t offset) {
    v1::UploadRequest request;
    request.mutable_header()->set_upload_id(id);
    request.mutable_header()->set_offset(offset);
    return request;
  }
  static v1::UploadRequest Bytes(const std::string& bytes) {
    v1::UploadRequest request;
    request.set_data(bytes);
    return request;
  }
  static v1::UploadRequest Finish() {
    v1::UploadRequest request;
    request.set_finish(true);
    return request;
  }
};

TEST_F(UploadRulesTest, AreEnforced) {
  const std::string id = Start("hello");
  EXPECT_THAT(Upload({}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Upload({Bytes("hello")}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Upload({Header("", 0)}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Upload({Header(id, 2)}), HasReason(Reason::kUploadOffset));
  EXPECT_THAT(Upload({Header(id, 0), Bytes("hello!")}), HasReason(Reason::kLimitBytes));
  EXPECT_THAT(Upload({Header(id, 0), Header(id, 0)}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Upload({Header(id, 0), Bytes("jello"), Finish()}), HasReason(Reason::kBadDigest));
  EXPECT_THAT(Upload({Header(id, 0)}), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(UploadRulesTest, AStreamThatStandsStillIsCutOff) {
  grpc::ClientContext context;
  v1::UploadResponse response;
  const auto writer = blobs_stub_->Upload(&context, &response);
  ASSERT_TRUE(writer->Write(Header(Start("hello"), 0)));
  std::atomic<bool> ended = false;
  // Time flies while the client says nothing more.
  std::jthread ticker([&] {
    while (!ended) {
      clock_.AdvanceMs(1000);
      blob_service_->CancelIdle();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  ended = true;
}

// An upload that notes how many bytes have come.
class CountedUpload : public jobs::UploadWriter {
 public:
  absl::Status Append(absl::string_view bytes) override {
    absl::MutexLock lock(&mutex_);
    size_ += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  }
  int64_t committed_offset() const override {
    absl::MutexLock lock(&mutex_);
    return size_;
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Finish() override { return absl::OkStatus(); }

  void Await(int64_t size) const {
    absl::MutexLock lock(&mutex_);
    const auto has_come = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return size_ >= size; };
    mutex_.Await(absl::Condition(&has_come));
  }

 private:
  mutable absl::Mutex mutex_;
  int64_t size_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Gives the upload to whoever resumes one.
class OneUpload : public jobs::UploadStore {
 public:
  absl::StatusOr<jobs::UploadTicket> Start(const BlobId&, absl::string_view) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<int64_t> CommittedOffset(absl::string_view) override { return 0; }
  absl::StatusOr<std::unique_ptr<jobs::UploadWriter>> Resume(absl::string_view, int64_t) override {
    auto upload = std::make_unique<CountedUpload>();
    upload_ = upload.get();
    resumed_.Notify();
    return upload;
  }
  absl::Status Expire(int64_t, int64_t) override { return absl::OkStatus(); }
  jobs::UploadLoad Load() const override { return {}; }

  // Valid until the stream ends.
  const CountedUpload& Await() {
    resumed_.WaitForNotification();
    return *upload_;
  }

 private:
  CountedUpload* upload_ = nullptr;
  absl::Notification resumed_;
};

TEST_F(UploadRulesTest, AStreamThatMovesSlowlyGoesOnForLong) {
  OneUpload uploads;
  BlobService service({}, blobs_.get(), &uploads, &clock_);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::BlobService::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  v1::UploadResponse response;
  const auto writer = stub->Upload(&context, &response);
  ASSERT_TRUE(writer->Write(Header("u", 0)));
  constexpr int kMessages = 10;
  const std::string message(StreamSlots::kWorthwhileBytes, 'm');
  for (int64_t i = 1; i <= kMessages; ++i) {
    ASSERT_TRUE(writer->Write(Bytes(message)));
    uploads.Await().Await(i * StreamSlots::kWorthwhileBytes);
    clock_.AdvanceMs(50'000);
    service.CancelIdle();
  }
  ASSERT_TRUE(writer->Write(Finish()));
  EXPECT_OK(Status(writer->Finish()));
  EXPECT_EQ(response.committed_offset(), kMessages * StreamSlots::kWorthwhileBytes);
}

TEST_F(UploadRulesTest, ChunksAreBounded) {
  const std::string big(static_cast<size_t>(blob_limits_.max_chunk_bytes) + 1, 'x');
  EXPECT_THAT(Upload({Header(Start(big), 0), Bytes(big)}), HasReason(Reason::kLimitBytes));
}

TEST_F(UploadRulesTest, AStreamThatEndsEarlyKeepsItsBytes) {
  const std::string id = Start("hello");
  EXPECT_OK(Upload({Header(id, 0), Bytes("he")}));
  EXPECT_OK(Upload({Header(id, 2), Bytes("llo"), Finish()}));
  EXPECT_TRUE(*blobs_->Contains(BlobId::Of("hello")));
}

}  // namespace
}  // namespace quotient::rpc
