#include "core/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace quotient {

spdlog::logger& Log() {
  static spdlog::logger* const logger = [] {
    auto* log = new spdlog::logger("quotient", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    log->set_level(spdlog::level::warn);
    log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    return log;
  }();
  return *logger;
}

std::string Escaped(absl::string_view text) {
  constexpr size_t kMost = 256;
  std::string escaped;
  for (const char c : text.substr(0, kMost)) {
    if (absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '\\') {
      escaped += c;
    } else {
      escaped += absl::CHexEscape(absl::string_view(&c, 1));
    }
  }
  if (text.size() > kMost) escaped += "...";
  return escaped;
}

}  // namespace quotient
