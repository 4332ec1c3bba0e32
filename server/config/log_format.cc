#include "server/config/log_format.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "nlohmann/json.hpp"

namespace quotient::config {
namespace {

thread_local const LogSubject* scope = nullptr;

LogSubject& ProcessSubject() {
  static auto& subject = *new LogSubject();
  return subject;
}

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const LogSubject& subject = scope != nullptr ? *scope : ProcessSubject();
    nlohmann::ordered_json json = {
        {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(message.time),
                                  absl::UTCTimeZone())},
        {"level", std::string(spdlog::level::to_string_view(message.level).data())}};
    if (!subject.job.empty()) json["job"] = subject.job;
    if (!subject.trace.empty()) json["trace"] = subject.trace;
    json["message"] = std::string(message.payload.data(), message.payload.size());
    // Bytes that are no UTF-8 are replaced, so that a line is always JSON.
    const std::string text =
        json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace) + "\n";
    line.append(text.data(), text.data() + text.size());
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

bool IsLowerHex(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c)) && !(c >= 'a' && c <= 'f'))
      return false;
  }
  return true;
}

}  // namespace

LogScope::LogScope(LogSubject subject) : outer_(scope), subject_(std::move(subject)) {
  scope = &subject_;
}

LogScope::~LogScope() { scope = outer_; }

void SetLogSubject(LogSubject subject) { ProcessSubject() = std::move(subject); }

void SetLogFormat(absl::string_view format) {
  if (format == "json") Log().sinks().front()->set_formatter(std::make_unique<JsonFormatter>());
}

std::string TraceIdOf(absl::string_view traceparent) {
  constexpr size_t kBegin = 3, kSize = 32, kAll = 55;
  if (traceparent.size() < kAll || traceparent[2] != '-' || traceparent[kBegin + kSize] != '-') {
    return "";
  }
  const absl::string_view trace = traceparent.substr(kBegin, kSize);
  const bool is_zero = trace.find_first_not_of('0') == absl::string_view::npos;
  return IsLowerHex(trace) && IsLowerHex(traceparent.substr(0, 2)) && !is_zero ? std::string(trace)
                                                                               : "";
}

}  // namespace quotient::config
