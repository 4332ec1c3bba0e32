#pragma once

// Calls of clients that neither send nor read.

#include <google/protobuf/message_lite.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace quotient::rpc {

// The server may send no more than a few bytes of a message before somebody reads it.
inline std::shared_ptr<grpc::Channel> ChannelThatReadsNothing(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 5);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// A call that sends one message, or nothing, and reads nothing but the headers of the answer, until
// it is told to.
class StalledCall : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // `ends` says that no further message follows, as gRPC wants it of all calls but streams.
  StalledCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
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
  // One that sends nothing. It sees when the server ends it.
  StalledCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method)
      : stub_(channel) {
    stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartRead(&response_);
    StartCall();
  }
  ~StalledCall() override {
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
  void OnDone(const grpc::Status& status) override {
    absl::MutexLock lock(&mutex_);
    status_ = status;
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
  // Of a call that sends nothing: how the server has ended it, within this time. Nothing if it has
  // not.
  std::optional<grpc::Status> EndWithin(absl::Duration time) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(&has_ended_), time)) return std::nullopt;
    return status_;
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
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::rpc
