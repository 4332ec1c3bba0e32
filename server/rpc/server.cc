#include "server/rpc/server.h"

#include <arpa/inet.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "core/base/log.h"

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
  // With SO_REUSEPORT, two servers on one port would each get a random part of the calls.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
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

// Whom to tell that gRPC accepts no connection any more. Its log function is one for the process.
struct DeafObserver {
  absl::Mutex mutex;
  std::function<void(const absl::Status&)> tell ABSL_GUARDED_BY(mutex);
};
DeafObserver& TheDeafObserver() {
  static auto& observer = *new DeafObserver;
  return observer;
}

void SetDeafObserver(std::function<void(const absl::Status&)> tell) {
  DeafObserver& observer = TheDeafObserver();
  absl::MutexLock lock(&observer.mutex);
  observer.tell = std::move(tell);
}

// What gRPC logs. When accepting a connection has failed once, as for want of a file descriptor, it
// closes that listener and says so here alone.
void LogOfGrpc(gpr_log_func_args* args) {
  const bool is_error = args->severity == GPR_LOG_SEVERITY_ERROR;
  Log().log(is_error ? spdlog::level::err : spdlog::level::debug, "gRPC: {}", args->message);
  if (!is_error || !absl::StrContains(args->message, "Failed accept")) return;
  DeafObserver& observer = TheDeafObserver();
  absl::MutexLock lock(&observer.mutex);
  if (observer.tell) {
    observer.tell(absl::UnavailableError(
        absl::StrCat("gRPC accepts no connection any more: ", args->message)));
  }
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

std::string WithPort(const std::string& listen, int port) {
  const size_t colon = listen.rfind(':');
  if (absl::StartsWith(listen, "unix:") || colon == std::string::npos) return listen;
  return absl::StrCat(listen.substr(0, colon), ":", port);
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
  grpc::ServerBuilder builder;
  SetTransport(settings, &builder);
  int port = 0;
  builder.AddListeningPort(settings.listen, grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<GrpcServer> server(new GrpcServer(settings));
  builder.RegisterService(&server->health_);
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || (port == 0 && !absl::StartsWith(settings.listen, "unix:"))) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", settings.listen));
  }
  SetDeafObserver(settings.on_deaf);
  server->address_ = WithPort(settings.listen, port);
  server->SetServing(false);
  server->health_.SetServing("live", true);
  return server;
}

GrpcServer::GrpcServer(const ServerSettings& settings)
    : health_(settings.health_watches, &Clock::System()) {}

GrpcServer::~GrpcServer() {
  SetDeafObserver(nullptr);
  if (server_ != nullptr) Shutdown(absl::ZeroDuration());
}

void GrpcServer::SetServing(bool serving) { health_.SetServing("", serving); }

void GrpcServer::Shutdown(absl::Duration grace) {
  health_.Close();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
}

bool IsLoopback(const std::string& address) {
  absl::string_view host = address;
  if (absl::ConsumePrefix(&host, "unix:")) return true;
  host = host.substr(0, host.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr parsed;
  if (inet_pton(AF_INET, std::string(host).c_str(), &parsed) != 1) return false;
  return (ntohl(parsed.s_addr) >> 24) == 127;
}

}  // namespace quotient::rpc
