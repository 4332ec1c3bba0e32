#include "server/rpc/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/addresses.h"

namespace quotient::rpc {
namespace {

// Bytes of a message besides its chunk, at most.
constexpr int64_t kMessageOverheadBytes = 64 << 10;

// Explained in README.md under "Transport". Clients use the same keepalive times.
constexpr int kKeepaliveTimeMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kMinClientPingIntervalMs = 10'000;
constexpr int kMaxConnectionAgeMs = 30 * 60 * 1000;
constexpr int kMaxConnectionAgeGraceMs = 5 * 60 * 1000;

void SetTransport(const ServerSettings& settings, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(
      static_cast<int>(settings.max_chunk_bytes + kMessageOverheadBytes));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kMinClientPingIntervalMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kMaxConnectionAgeMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kMaxConnectionAgeGraceMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, settings.max_streams_per_connection);
  grpc::ResourceQuota quota("quotient");
  quota.Resize(static_cast<size_t>(settings.memory_quota_bytes));
  quota.SetMaxThreads(settings.max_threads);
  builder->SetResourceQuota(quota);
}

// A message that cannot be parsed has an error as its answer, so these lines are for debugging. In
// the form of the log, and not as often as some client likes.
void LogOfProtobuf(google::protobuf::LogLevel level, const char* /*file*/, int /*line*/,
                   const std::string& message) {
  const bool is_fatal = level == google::protobuf::LOGLEVEL_FATAL;
  Log().log(is_fatal ? spdlog::level::critical : spdlog::level::debug, "protobuf: {}", message);
}

// What gRPC logs.
void LogOfGrpc(gpr_log_func_args* args) {
  const bool is_error = args->severity == GPR_LOG_SEVERITY_ERROR;
  Log().log(is_error ? spdlog::level::err : spdlog::level::debug, "gRPC: {}", args->message);
}

// Prepares the whole process for gRPC, which must happen before the first ServerBuilder.
void PrepareProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    google::protobuf::SetLogHandler(&LogOfProtobuf);
    gpr_set_log_function(&LogOfGrpc);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const ServerSettings& settings, const std::vector<grpc::Service*>& services,
    Interceptors interceptors) {
  if (!settings.allow_remote && !IsLoopback(settings.listen)) {
    return absl::FailedPreconditionError(
        absl::StrCat(settings.listen, " can be reached from other machines, without encryption or",
                     " authentication; --allow-remote says that this is meant"));
  }
  PrepareProcess();
  std::unique_ptr<GrpcServer> server(new GrpcServer(settings));
  QUOTIENT_ASSIGN_OR_RETURN(
      server->listener_,
      Listener::Bind(settings.listen, {.most = settings.max_connections}, kKeepaliveTimeoutMs));
  grpc::ServerBuilder builder;
  SetTransport(settings, &builder);
  server->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.RegisterService(&server->health_);
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return absl::UnavailableError("gRPC's server does not start");
  server->SetServing(false);
  server->health_.SetServing("live", true);
  server->listener_->Start([acceptor = server->acceptor_.get()](int listening, int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listening;
    parameters.fd = connection;
    acceptor->HandleNewConnection(&parameters);
  });
  return server;
}

GrpcServer::GrpcServer(const ServerSettings& settings)
    : health_(settings.health_watches, &Clock::System()) {}

GrpcServer::~GrpcServer() {
  if (server_ != nullptr) Shutdown(absl::ZeroDuration());
}

void GrpcServer::SetServing(bool serving) { health_.SetServing("", serving); }

void GrpcServer::Shutdown(absl::Duration grace) {
  listener_->Stop();
  health_.Close();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
}

}  // namespace quotient::rpc
