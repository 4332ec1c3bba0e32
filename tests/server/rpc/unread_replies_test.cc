// Clients that do not read what they have asked for.

#include "server/rpc/unread_replies.h"

#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/server/rpc/services_fixture.h"

namespace quotient::rpc {
namespace {

// A call that sends one message and reads nothing but the headers of the answer, until it is told
// to. That a server has ended it is seen only then.
class UnreadCall : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // `ends` says that no further message follows, as gRPC wants it of all calls but streams.
  UnreadCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
             const google::protobuf::MessageLite& request, bool ends = true)
      : stub_(channel) {
    const grpc::Slice slice(request.SerializeAsString());
    request_ = grpc::ByteBuffer(&slice, 1);
    stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
    // The stream goes on while somebody may still write.
    if (!ends) AddHold();
    StartWrite(&request_, ends ? grpc::WriteOptions().set_last_message() : grpc::WriteOptions());
    StartCall();
    if (!ends) RemoveHold();
  }
  ~UnreadCall() override {
    context_.TryCancel();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_ended_));
  }

  void OnReadInitialMetadataDone(bool /*ok*/) override {
    absl::MutexLock lock(&mutex_);
    is_answered_ = true;
  }
  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    could_read_ = ok;
  }
  void OnDone(const grpc::Status& /*status*/) override {
    absl::MutexLock lock(&mutex_);
    has_ended_ = true;
  }

  // Blocks until the server has begun to answer, or the call has ended.
  void AwaitAnswer() ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto settled = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_answered_ || has_ended_;
    };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&settled));
  }
  // Reads the answer. Returns whether all of it came.
  bool Read() ABSL_LOCKS_EXCLUDED(mutex_) {
    StartRead(&response_);
    const auto was_tried = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return could_read_.has_value();
    };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&was_tried));
    return *could_read_;
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;

  absl::Mutex mutex_;
  bool is_answered_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<bool> could_read_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class UnreadRepliesTest : public ServicesTest {
 protected:
  UnreadRepliesTest() {
    grpc::ChannelArguments arguments;
    // The server may send no more than a few bytes of a message before somebody reads it.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 5);
    channel_ = grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), arguments);
  }

  void Ask(const std::string& job) {
    v1::GetJobRequest request;
    request.set_name(job);
    calls_.push_back(
        std::make_unique<UnreadCall>(channel_, "/quotient.v1.OptimizerService/GetJob", request));
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
  std::vector<std::unique_ptr<UnreadCall>> calls_;
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

TEST_F(UnreadRepliesTest, SilentStreamsOfReflectionHoldFewThreads) {
  const google::protobuf::StringValue nothing;
  for (int i = 0; i < 6; ++i) {
    calls_.push_back(std::make_unique<UnreadCall>(
        channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", nothing,
        /*ends=*/false));
    calls_.back()->AwaitAnswer();
    clock_.AdvanceMs(200);
  }
  ExpectThatOnlyTheLastGoOn(2);
}

}  // namespace
}  // namespace quotient::rpc
