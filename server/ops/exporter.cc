#include "server/ops/exporter.h"

#include <microhttpd.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "server/rpc/addresses.h"
#include "server/rpc/connection_table.h"
#include "server/rpc/peer.h"

namespace quotient::ops {
namespace {

// These compute answers, and wait for no client. There are more than pages are made at once.
constexpr unsigned kThreads = 8;
constexpr unsigned kIdleSeconds = 10;
constexpr int kMostConnections = 64;
constexpr int64_t kLongestMs = 30'000;
// Of the library, which counts those that were ended until it has closed them.
constexpr unsigned kMostSockets = 1024;

constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";

Page Metrics(const Exporter::Sources& sources) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : sources.collectables) {
    std::vector<prometheus::MetricFamily> more = collectable->Collect();
    std::move(more.begin(), more.end(), std::back_inserter(families));
  }
  return {.type = kMetricsText, .body = prometheus::TextSerializer().Serialize(families)};
}

Page Ready(const Exporter::Sources& sources) {
  const std::vector<std::string> obstacles = sources.readiness->obstacles();
  if (obstacles.empty()) return {.body = "ready\n"};
  return {.status = 503, .body = absl::StrCat(absl::StrJoin(obstacles, "\n"), "\n")};
}

Page AnswerOf(const Exporter::Sources& sources, const PageRequest& request) {
  if (request.path == "/metrics") return Metrics(sources);
  if (request.path == "/livez") return {.body = "live\n"};
  if (request.path == "/readyz") return Ready(sources);
  if (sources.pages != nullptr) return sources.pages->Answer(request);
  return {.status = 404, .body = "not found\n"};
}

// Sends a page, which is kept until it is sent.
MHD_Result Send(MHD_Connection* connection, Page page) {
  auto* const kept = new Page(std::move(page));
  MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
      kept->body.size(), kept->body.data(), [](void* sent) { delete static_cast<Page*>(sent); },
      kept);
  if (response == nullptr) {
    delete kept;
    return MHD_NO;
  }
  kept->headers.insert(
      kept->headers.end(),
      {{"Content-Type", kept->type}, {"Cache-Control", "no-store"}, {"Connection", "close"}});
  for (const auto& [name, value] : kept->headers) {
    MHD_add_response_header(response, name.c_str(), value.c_str());
  }
  const MHD_Result result =
      MHD_queue_response(connection, static_cast<unsigned>(kept->status), response);
  MHD_destroy_response(response);
  return result;
}

class HttpExporter : public Exporter {
 public:
  explicit HttpExporter(Sources sources)
      : sources_(std::move(sources)),
        connections_({.most = kMostConnections, .longest_ms = kLongestMs}, &Clock::System()) {}

  ~HttpExporter() override {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  absl::Status Listen(const std::string& listen) {
    const rpc::Addresses addresses = rpc::Resolve(listen);
    if (addresses != nullptr) {
      const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC |
                             (addresses->ai_family == AF_INET6 ? MHD_USE_DUAL_STACK : 0);
      daemon_ = MHD_start_daemon(
          flags, /*port=*/0, nullptr, nullptr, &Handle, this, MHD_OPTION_SOCK_ADDR,
          addresses->ai_addr, MHD_OPTION_THREAD_POOL_SIZE, kThreads, MHD_OPTION_CONNECTION_LIMIT,
          kMostSockets, MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_NOTIFY_CONNECTION,
          &Notify, this, MHD_OPTION_URI_LOG_CALLBACK, &KeepQuery, nullptr,
          MHD_OPTION_NOTIFY_COMPLETED, &DropQuery, nullptr, MHD_OPTION_END);
    }
    if (daemon_ == nullptr) {
      return absl::UnavailableError(absl::StrCat("cannot serve metrics on ", listen));
    }
    const int port = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_BIND_PORT)->port;
    address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port);
    return absl::OkStatus();
  }

  const std::string& address() const override { return address_; }

 private:
  static void Notify(void* self, MHD_Connection* connection, void** /*context*/,
                     MHD_ConnectionNotificationCode code) {
    if (code != MHD_CONNECTION_NOTIFY_STARTED) return;
    const int socket =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    const sockaddr* const client =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    static_cast<HttpExporter*>(self)->connections_.Add(socket, rpc::PeerHost(*client));
  }

  // The library tells handlers a path that is decoded, and no query as it was sent.
  static void* KeepQuery(void* /*unused*/, const char* uri, MHD_Connection* /*connection*/) {
    const absl::string_view text = uri;
    const size_t mark = text.find('?');
    return new std::string(mark == text.npos ? "" : text.substr(mark + 1));
  }
  static void DropQuery(void* /*unused*/, MHD_Connection* /*connection*/, void** query,
                        MHD_RequestTerminationCode /*code*/) {
    delete static_cast<std::string*>(std::exchange(*query, nullptr));
  }

  static MHD_Result Handle(void* self, MHD_Connection* connection, const char* path,
                           const char* method_name, const char* /*version*/, const char* /*upload*/,
                           size_t* /*upload_size*/, void** query) {
    const absl::string_view method = method_name;
    if (method != "GET" && method != "HEAD") {
      return Send(connection, {.status = 405, .body = "only GET and HEAD\n"});
    }
    const PageRequest request = {.path = path,
                                 .query = *static_cast<const std::string*>(*query),
                                 .host = absl::NullSafeStringView(MHD_lookup_connection_value(
                                     connection, MHD_HEADER_KIND, "Host"))};
    return Send(connection, AnswerOf(static_cast<HttpExporter*>(self)->sources_, request));
  }

  const Sources sources_;
  rpc::ConnectionTable connections_;
  std::string address_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Exporter>> Exporter::Start(const std::string& listen,
                                                          Sources sources) {
  auto exporter = std::make_unique<HttpExporter>(std::move(sources));
  QUOTIENT_RETURN_IF_ERROR(exporter->Listen(listen));
  return exporter;
}

}  // namespace quotient::ops
