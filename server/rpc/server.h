#pragma once

// The gRPC listener: transport settings, health and reflection around the services.

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace quotient::rpc {

struct ServerSettings {
  std::string listen = "127.0.0.1:7070";  // port 0: any free one
  // There is neither encryption nor authentication yet, so other machines are let in only on
  // purpose.
  bool allow_remote = false;
  int64_t max_chunk_bytes = int64_t{2} << 20;
  // For all connections together: buffers for slow readers and read-ahead come out of this.
  int64_t memory_quota_bytes = int64_t{512} << 20;
  int max_threads = 512;
};

class GrpcServer {
 public:
  using Interceptors =
      std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;

  // Listening when this returns, not yet serving according to its health. Services are borrowed.
  // FAILED_PRECONDITION if the address is not of this machine alone and that is not allowed;
  // UNAVAILABLE if it cannot be bound.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const ServerSettings& settings, const std::vector<grpc::Service*>& services,
      Interceptors interceptors);
  ~GrpcServer();

  // What clients should connect to: the host asked for and the port chosen.
  const std::string& address() const { return address_; }

  // What grpc.health.v1 answers.
  void SetServing(bool serving);

  // Takes no more calls, gives those in progress `grace` to end, then cancels them; blocks.
  void Shutdown(absl::Duration grace);

 private:
  GrpcServer() = default;

  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// "127.0.0.1:7070", "[::1]:0", "localhost:0" and "unix:PATH" are; "0.0.0.0:7070" is not.
bool IsLoopback(const std::string& address);

}  // namespace quotient::rpc
