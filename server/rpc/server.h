#pragma once

// The gRPC server: listens, and adds transport settings, health checks and reflection to the
// services.

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/rpc/health_service.h"
#include "server/rpc/listener.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

struct ServerSettings {
  std::string listen = "127.0.0.1:7070";  // Port 0 means any free one.
  // Allows `listen` to be an address that other machines can reach. Off by default, since there is
  // neither encryption nor authentication yet.
  bool allow_remote = false;
  int64_t max_chunk_bytes = int64_t{2} << 20;
  // Memory for the buffers of all connections together, such as those for slow readers.
  int64_t memory_quota_bytes = int64_t{512} << 20;
  int max_threads = 640;
  // Calls of one connection at once. A client's library lets further ones wait.
  int max_streams_per_connection = 2048;
  // Streams of grpc.health.v1.Health/Watch. It is their way to wait for news.
  SlotLimits health_watches = {.count = 1024, .per_peer = 64, .spared_idle_ms = std::nullopt};
  // No more than half of the files that the process may open. The oldest of the client that has
  // most gives way to a further one.
  int max_connections = 12'000;
};

class GrpcServer {
 public:
  using Interceptors =
      std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;

  // Starts a server, which accepts calls when this returns, but reports NOT_SERVING until
  // SetServing. Borrows the services. Returns FAILED_PRECONDITION if other machines can reach the
  // address and this is not allowed, and UNAVAILABLE if the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const ServerSettings& settings, const std::vector<grpc::Service*>& services,
      Interceptors interceptors);
  ~GrpcServer();

  // The address to which clients connect: the requested host and the port in use.
  const std::string& address() const { return listener_->address(); }

  // Sets the answer of the health service (grpc.health.v1) for the service "", which stands for the
  // server as a whole. That for "live" is SERVING while the server answers at all.
  void SetServing(bool serving);

  // Accepts no more calls, gives those in progress the time `grace` to end, then cancels them.
  // Blocks until all have ended.
  void Shutdown(absl::Duration grace);

 private:
  explicit GrpcServer(const ServerSettings& settings);

  HealthService health_;  // Outlives the server.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;  // Ends before the others, which it calls.
};

}  // namespace quotient::rpc
