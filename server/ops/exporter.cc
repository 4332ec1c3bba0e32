#include "server/ops/exporter.h"

#include <civetweb.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace quotient::ops {
namespace {

// A client that connects and sends nothing holds a thread for the timeout, so there are more than
// probes and scrapers need. One that sends a byte now and then holds it for as long as it likes:
// the library reads what comes before it closes a connection, and has no option against that.
constexpr char kThreads[] = "24";
constexpr char kTimeoutMs[] = "1000";

constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";

Page AnswerMetrics(const Exporter::Sources& sources, const PageRequest& /*request*/) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : sources.collectables) {
    std::vector<prometheus::MetricFamily> more = collectable->Collect();
    std::move(more.begin(), more.end(), std::back_inserter(families));
  }
  return {.type = kMetricsText, .body = prometheus::TextSerializer().Serialize(families)};
}

Page AnswerLive(const Exporter::Sources& /*sources*/, const PageRequest& /*request*/) {
  return {.body = "live\n"};
}

Page AnswerReady(const Exporter::Sources& sources, const PageRequest& /*request*/) {
  const std::vector<std::string> obstacles = sources.readiness->obstacles();
  if (obstacles.empty()) return {.body = "ready\n"};
  return {.status = 503, .body = absl::StrCat(absl::StrJoin(obstacles, "\n"), "\n")};
}

Page AnswerPages(const Exporter::Sources& sources, const PageRequest& request) {
  return sources.pages->Answer(request);
}

// Answers a request by what `Make` says. Returns the status, for the library's log.
template <Page Make(const Exporter::Sources&, const PageRequest&)>
int Serve(mg_connection* connection, void* sources) {
  const mg_request_info* const info = mg_get_request_info(connection);
  const auto text = [](const char* value) { return absl::NullSafeStringView(value); };
  const absl::string_view method = info->request_method;
  const PageRequest request = {.path = text(info->local_uri),
                               .query = text(info->query_string),
                               .host = text(mg_get_header(connection, "Host"))};
  const bool is_read = method == "GET" || method == "HEAD";
  const Page answer = is_read ? Make(*static_cast<const Exporter::Sources*>(sources), request)
                              : Page{.status = 405, .body = "only GET and HEAD\n"};
  const std::string head = absl::StrCat(
      "HTTP/1.1 ", answer.status, " ", mg_get_response_code_text(connection, answer.status), "\r\n",
      answer.headers, "Content-Type: ", answer.type, "\r\nContent-Length: ", answer.body.size(),
      "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (method != "HEAD") mg_write(connection, answer.body.data(), answer.body.size());
  return answer.status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Exporter>> Exporter::Start(const std::string& listen,
                                                          Sources sources) {
  mg_init_library(MG_FEATURES_DEFAULT);
  std::unique_ptr<Exporter> exporter(new Exporter(std::move(sources)));
  const std::array<const char*, 7> options = {
      "listening_ports",    listen.c_str(), "num_threads", kThreads,
      "request_timeout_ms", kTimeoutMs,     nullptr};
  const mg_callbacks callbacks = {};
  exporter->context_ = mg_start(&callbacks, nullptr, const_cast<const char**>(options.data()));
  mg_server_port port = {};
  if (exporter->context_ == nullptr || mg_get_server_ports(exporter->context_, 1, &port) < 1) {
    return absl::UnavailableError(absl::StrCat("cannot serve metrics on ", listen));
  }
  auto* const shown = const_cast<Sources*>(&exporter->sources_);
  mg_set_request_handler(exporter->context_, "/metrics$", &Serve<AnswerMetrics>, shown);
  mg_set_request_handler(exporter->context_, "/livez$", &Serve<AnswerLive>, shown);
  mg_set_request_handler(exporter->context_, "/readyz$", &Serve<AnswerReady>, shown);
  if (exporter->sources_.pages != nullptr) {
    mg_set_request_handler(exporter->context_, "**", &Serve<AnswerPages>, shown);
  }
  exporter->address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port.port);
  return exporter;
}

Exporter::~Exporter() {
  if (context_ != nullptr) mg_stop(context_);
  mg_exit_library();
}

}  // namespace quotient::ops
