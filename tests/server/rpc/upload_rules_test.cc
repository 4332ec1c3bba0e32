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

}  // namespace
}  // namespace quotient::rpc
