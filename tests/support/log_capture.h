#pragma once

// What is logged while it lives, at info and above.

#include <spdlog/sinks/ringbuffer_sink.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"

namespace quotient::testing {

// Made and destroyed while nobody logs.
class LogCapture {
 public:
  LogCapture() : level_(Log().level()) {
    sink_->set_pattern("%l %v");
    Log().sinks().push_back(sink_);
    Log().set_level(spdlog::level::info);
  }
  ~LogCapture() {
    Log().set_level(level_);
    Log().sinks().pop_back();
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // "LEVEL text\n" each.
  std::vector<std::string> lines() const { return sink_->last_formatted(); }

 private:
  const spdlog::level::level_enum level_;
  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> sink_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(1000);
};

}  // namespace quotient::testing
