#include "client/cpp/connection.h"

#include <stdlib.h>

#include "core/base/status_macros.h"

namespace quotient::client {
namespace {

// While a retry pauses, no call looks at a connection that is being made; gRPC itself does so every
// 5 s by default, so that a server that is back was found only then. gRPC reads the variable when
// it is used for the first time in a process.
void LookAtConnectionsOften() {
  setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "200", /*overwrite=*/0);
}

// The keepalive times are those of server/rpc/server.cc.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  LookAtConnectionsOften();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Reconnect quickly: a restarted server is found within about a second.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  // Despite its name, this is the time limit of one connection attempt.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  // Proxies set in the environment are meant for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Connection::Connection(ConnectionOptions options, Interrupt* interrupt)
    : options_(std::move(options)),
      interrupt_(*interrupt),
      channel_(MakeChannel(options_.address)) {}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const ConnectionOptions& options,
                                                             Interrupt* interrupt) {
  std::unique_ptr<Connection> connection(new Connection(options, interrupt));
  const auto stub = v1::CapabilitiesService::NewStub(connection->channel_);
  QUOTIENT_ASSIGN_OR_RETURN(
      connection->capabilities_,
      connection->Repeat<v1::Capabilities>(
          Retry(options.first_patience, interrupt), v1::GetCapabilitiesRequest(),
          [&](auto* context, const auto& request, auto* response) {
            return stub->GetCapabilities(context, request, response);
          }));
  return connection;
}

absl::Status Connection::Annotated(const absl::Status& status) const {
  if (interrupt_.triggered() && !status.ok()) return MakeError(Reason::kCancelled, "interrupted");
  if (!absl::IsUnavailable(status)) return status;
  return Annotate(status, absl::StrCat("server ", options_.address));
}

}  // namespace quotient::client
