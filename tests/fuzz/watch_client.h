#pragma once

// The client's end of a WatchJob stream, without a connection.

#include <grpcpp/support/server_callback.h>

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "quotient/v1/optimizer.pb.h"
#include "tests/fuzz/rpc_checks.h"

namespace quotient::testing {

// Takes the place of gRPC between a stream and its client. One thread. Ends the stream, as a client
// that is gone, when it is destroyed.
class WatchClient
    : public grpc::ServerCallbackReaderWriter<v1::WatchJobRequest, v1::WatchJobResponse> {
 public:
  using Stream = grpc::ServerBidiReactor<v1::WatchJobRequest, v1::WatchJobResponse>;

  WatchClient(const v1::WatchJobRequest& request,
              absl::FunctionRef<Stream*(grpc::CallbackServerContext*)> start)
      : stream_(start(&context_)) {
    BindReactor(stream_);
    Check(wanted_ != nullptr, "a stream reads its request");
    *wanted_ = request;
    stream_->OnReadDone(/*ok=*/true);
    Read();
  }

  ~WatchClient() override {
    if (!finished_) stream_->OnCancel();
    Check(finished_, "a stream ends when its client is gone");
    stream_->OnDone();
  }

  // Takes all messages that there are.
  void Read() {
    while (const v1::WatchJobResponse* message = std::exchange(pending_, nullptr)) {
      CheckMessage(*message);
      stream_->OnWriteDone(/*ok=*/true);
    }
  }

  bool finished() const { return finished_; }

  void Finish(grpc::Status status) override {
    Check(!finished_, "a stream ends once");
    if (!status.ok()) CheckError(status);
    finished_ = true;
  }
  void SendInitialMetadata() override {}
  void Read(v1::WatchJobRequest* request) override {
    Check(wanted_ == nullptr, "a stream reads one request");
    wanted_ = request;
  }
  void Write(const v1::WatchJobResponse* message, grpc::WriteOptions /*options*/) override {
    Check(pending_ == nullptr && !finished_, "a stream writes one message at a time");
    pending_ = message;
  }
  void WriteAndFinish(const v1::WatchJobResponse* message, grpc::WriteOptions options,
                      grpc::Status status) override {
    Write(message, options);
    Finish(std::move(status));
  }

 private:
  void CheckMessage(const v1::WatchJobResponse& message) {
    CheckAnswer(message);
    Check(has_snapshot_ || message.has_snapshot(), "a stream begins with a snapshot");
    has_snapshot_ = true;
    if (!message.has_transition()) return;
    Check(message.transition().sequence() > sequence_, "transitions come in their order");
    sequence_ = message.transition().sequence();
  }

  grpc::internal::ServerReactor* reactor() override { return stream_; }
  void CallOnDone() override {}

  grpc::CallbackServerContext context_;
  Stream* const stream_;
  v1::WatchJobRequest* wanted_ = nullptr;
  const v1::WatchJobResponse* pending_ = nullptr;
  bool finished_ = false;
  bool has_snapshot_ = false;
  int64_t sequence_ = 0;
};

}  // namespace quotient::testing
