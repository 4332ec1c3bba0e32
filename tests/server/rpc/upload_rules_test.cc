// Uploads that do not keep to the rules.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

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
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ended = true;
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

// An upload that notes how many are written to at the same time.
class CountedUpload : public jobs::UploadWriter {
 public:
  CountedUpload(std::atomic<int>* at_once, std::atomic<int>* most)
      : at_once_(*at_once), most_(*most) {}

  absl::Status Append(absl::string_view bytes) override {
    const int now = ++at_once_;
    for (int most = most_; now > most && !most_.compare_exchange_weak(most, now);) {
    }
    std::this_thread::yield();
    committed_offset_ += static_cast<int64_t>(bytes.size());
    --at_once_;
    return absl::OkStatus();
  }
  int64_t committed_offset() const override { return committed_offset_; }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  std::atomic<int>& at_once_;
  std::atomic<int>& most_;
  int64_t committed_offset_ = 0;
};

class CountedUploads : public jobs::UploadStore {
 public:
  absl::StatusOr<jobs::UploadTicket> Start(const BlobId&, absl::string_view) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<int64_t> CommittedOffset(absl::string_view) override { return 0; }
  absl::StatusOr<std::unique_ptr<jobs::UploadWriter>> Resume(absl::string_view, int64_t) override {
    return std::make_unique<CountedUpload>(&at_once_, &most_);
  }
  absl::Status Expire(int64_t, int64_t) override { return absl::OkStatus(); }
  jobs::UploadLoad Load() const override { return {}; }

  int most() const { return most_; }

 private:
  std::atomic<int> at_once_ = 0;
  std::atomic<int> most_ = 0;
};

TEST_F(UploadRulesTest, OnlySoManyAreWrittenToAtOnce) {
  constexpr int kUploads = 16, kFrames = 500, kWriters = 2;
  CountedUploads uploads;
  BlobService service({.writers = kWriters}, blobs_.get(), &uploads, &clock_);
  std::vector<v1::UploadResponse> responses(kUploads);
  {
    std::vector<std::jthread> clients;
    for (v1::UploadResponse& response : responses) {
      clients.emplace_back([&] {
        int next = 0;
        EXPECT_OK(service.Receive(
            [&](v1::UploadRequest* request) {
              *request = next == 0 ? Header("u", 0) : next <= kFrames ? Bytes("b") : Finish();
              return next++ <= kFrames + 1;
            },
            &response));
      });
    }
  }
  for (const v1::UploadResponse& response : responses) {
    EXPECT_EQ(response.committed_offset(), kFrames);
  }
  EXPECT_LE(uploads.most(), kWriters);
}

}  // namespace
}  // namespace quotient::rpc
