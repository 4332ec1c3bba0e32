#pragma once

// A connection to a server. Every unary call has a deadline, is repeated while the server is
// unavailable, and is ended by the interrupt.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cpp/interrupt.h"
#include "client/cpp/retry.h"
#include "client/cpp/status.h"
#include "core/base/reason.h"
#include "quotient/v1/capabilities.grpc.pb.h"

namespace quotient::client {

struct ConnectionOptions {
  std::string address;  // "HOST:PORT"
  // How long to keep retrying when a server that was reached before is unavailable.
  absl::Duration patience = absl::Seconds(60);
  // The same for the first contact, when there may be no server at all.
  absl::Duration first_patience = absl::Seconds(10);
};

// Thread-safe.
class Connection {
 public:
  // What a call may take usually.
  static constexpr absl::Duration kCallTime = absl::Seconds(60);

  // Connects and asks the server for its capabilities. Returns UNAVAILABLE if no server answers.
  // Borrows the interrupt.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const ConnectionOptions& options,
                                                          Interrupt* interrupt);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const v1::Capabilities& capabilities() const { return capabilities_; }
  Interrupt& interrupt() const { return interrupt_; }
  Retry NewRetry() const { return Retry(options_.patience, &interrupt_); }

  // Makes a unary call, which may take so long. `call(&context, request, &response)` must call a
  // method of a stub.
  template <typename Response, typename Request, typename Call>
  absl::StatusOr<Response> Unary(const Request& request, Call call,
                                 absl::Duration time = kCallTime) const {
    return Repeat<Response>(NewRetry(), request, call, time);
  }

  // Adds the server's address to the message of an UNAVAILABLE error. After the interrupt, returns
  // CANCELLED for any error.
  absl::Status Annotated(const absl::Status& status) const;

 private:
  Connection(ConnectionOptions options, Interrupt* interrupt);

  template <typename Response, typename Request, typename Call>
  absl::StatusOr<Response> Repeat(Retry retry, const Request& request, Call call,
                                  absl::Duration time = kCallTime) const {
    for (;;) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + time));
      const Interrupt::Handler cancel(&interrupt_, [&context] { context.TryCancel(); });
      Response response;
      const absl::Status status = FromGrpc(call(&context, request, &response));
      if (status.ok()) return response;
      if (!retry.Again(status)) return Annotated(status);
    }
  }

  const ConnectionOptions options_;
  Interrupt& interrupt_;
  const std::shared_ptr<grpc::Channel> channel_;
  v1::Capabilities capabilities_;
};

}  // namespace quotient::client
