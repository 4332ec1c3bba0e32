// Clients that do not read what they have asked for.

#include "server/rpc/unread_replies.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/server/rpc/services_fixture.h"
#include "tests/server/rpc/stalled_call.h"

namespace quotient::rpc {
namespace {

class UnreadRepliesTest : public ServicesTest {
 protected:
  UnreadRepliesTest() { channel_ = ChannelThatReadsNothing(address()); }

  void Ask(const std::string& job) {
    v1::GetJobRequest request;
    request.set_name(job);
    calls_.push_back(
        std::make_unique<StalledCall>(channel_, "/quotient.v1.OptimizerService/GetJob", request));
    calls_.back()->AwaitAnswer();
  }

  // Whether the server still answers the last `count` calls and no others.
  void ExpectThatOnlyTheLastGoOn(size_t count) {
    for (size_t i = 0; i < calls_.size(); ++i) {
      EXPECT_EQ(calls_[i]->Read(), i + count >= calls_.size()) << i;
    }
  }

  absl::StatusOr<v1::Job> Get(const std::string& job) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(job);
    v1::Job response;
    QUOTIENT_RETURN_IF_ERROR(Status(jobs_stub_->GetJob(&context, request, &response)));
    return response;
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::vector<std::unique_ptr<StalledCall>> calls_;
};

TEST_F(UnreadRepliesTest, WhoDoesNotReadLosesThePlacesThatItHas) {
  const std::string job = Submit("model").name();
  for (int i = 0; i < 40; ++i) {
    Ask(job);
    clock_.AdvanceMs(200);
  }
  EXPECT_OK(Get(job));
  ExpectThatOnlyTheLastGoOn(15);  // Get had a place, too.
}

TEST_F(UnreadRepliesTest, FewerLargeRepliesWait) {
  v1::SubmitJobRequest request = SubmitRequest("model");
  for (int i = 0; i < 1000; ++i) {
    v1::ModelManifest::ExternalFile* const file = request.mutable_model()->add_external_files();
    file->set_location(absl::StrCat("weights", i));
    *file->mutable_blob() = request.model().graph();
  }
  grpc::ClientContext context;
  v1::SubmitJobResponse response;
  ASSERT_OK(Status(jobs_stub_->SubmitJob(&context, request, &response)));
  for (int i = 0; i < 10; ++i) {
    Ask(response.job().name());
    clock_.AdvanceMs(200);
  }
  ASSERT_OK_AND_ASSIGN(const v1::Job job, Get(response.job().name()));
  EXPECT_EQ(job.model().external_files_size(), 1000);
  ExpectThatOnlyTheLastGoOn(1);
}

TEST_F(UnreadRepliesTest, NobodyWaitsForEver) {
  const std::string job = Submit("model").name();
  Ask(job);
  clock_.AdvanceMs(30'000);
  Ask(job);
  clock_.AdvanceMs(31'000);
  replies_.CancelIdle();
  ExpectThatOnlyTheLastGoOn(1);
}

// The health service answers in gRPC's own threads, which end calls wherever they are cancelled.
TEST_F(UnreadRepliesTest, UnreadChecksOfHealthKeepNobodyWaiting) {
  const std::string job = Submit("model").name();
  const google::protobuf::StringValue everything;
  for (int i = 0; i < 40; ++i) {
    calls_.push_back(
        std::make_unique<StalledCall>(channel_, "/grpc.health.v1.Health/Check", everything));
    calls_.back()->AwaitAnswer();
    clock_.AdvanceMs(200);
  }
  EXPECT_OK(Get(job));
  ExpectThatOnlyTheLastGoOn(15);  // Get had a place, too.
}

TEST_F(UnreadRepliesTest, SilentStreamsOfReflectionHoldFewThreads) {
  const google::protobuf::StringValue nothing;
  for (int i = 0; i < 6; ++i) {
    calls_.push_back(std::make_unique<StalledCall>(
        channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", nothing,
        /*ends=*/false));
    calls_.back()->AwaitAnswer();
    clock_.AdvanceMs(200);
  }
  ExpectThatOnlyTheLastGoOn(2);
}

}  // namespace
}  // namespace quotient::rpc
