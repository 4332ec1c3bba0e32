#include "server/config/log_format.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/base/log.h"
#include "nlohmann/json.hpp"

namespace quotient::config {
namespace {

// Returns what `log` writes. From then on all messages of this process are JSON.
nlohmann::json Logged(void (*log)()) {
  ::testing::internal::CaptureStderr();
  SetLogFormat("json");
  Log().set_level(spdlog::level::info);
  log();
  Log().flush();
  return nlohmann::json::parse(::testing::internal::GetCapturedStderr(), nullptr,
                               /*allow_exceptions=*/false);
}

TEST(LogFormatTest, AMessageIsAnObject) {
  const nlohmann::json line = Logged([] { Log().warn("a \"quoted\" word"); });
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["message"], "a \"quoted\" word");
  EXPECT_FALSE(line.contains("job"));
  const std::string time = line["time"];
  EXPECT_EQ(time.size(), std::string("2026-11-28T12:00:00.123Z").size());
  EXPECT_EQ(time.back(), 'Z');
}

TEST(LogFormatTest, AMessageIsOneLineOfAsciiWhateverItHolds) {
  const nlohmann::json line = Logged([] { Log().info("two\nlines \xff\x1b[31m \u00e9"); });
  ASSERT_FALSE(line.is_discarded());
  EXPECT_NE(line["message"].get<std::string>().find("two\nlines"), std::string::npos);
}

TEST(LogFormatTest, AMessageSaysWhatItIsAbout) {
  const nlohmann::json inner = Logged([] {
    const LogScope outer({.job = "outer"});
    const LogScope scope({.job = "7", .trace = "abc"});
    Log().info("x");
  });
  EXPECT_EQ(inner["job"], "7");
  EXPECT_EQ(inner["trace"], "abc");
  const nlohmann::json outer = Logged([] {
    const LogScope scope({.job = "outer"});
    { const LogScope inner({.job = "inner"}); }
    Log().info("x");
  });
  EXPECT_EQ(outer["job"], "outer");
  EXPECT_FALSE(outer.contains("trace"));
  const nlohmann::json other = Logged([] {
    const LogScope scope({.job = "mine"});
    std::thread([] { Log().info("x"); }).join();
  });
  EXPECT_FALSE(other.contains("job")) << "another thread has its own";
}

TEST(LogFormatTest, AProcessCanBeAboutOneJob) {
  const nlohmann::json line = Logged([] {
    SetLogSubject({.job = "process"});
    std::thread([] { Log().info("x"); }).join();
    SetLogSubject({});
  });
  EXPECT_EQ(line["job"], "process");
}

TEST(TraceIdTest, IsTakenFromAWellFormedHeaderOnly) {
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  EXPECT_EQ(TraceIdOf("00-" + trace + "-00f067aa0ba902b7-01"), trace);
  EXPECT_EQ(TraceIdOf("cc-" + trace + "-00f067aa0ba902b7-01-what-comes-later"), trace);
  const std::string bad_headers[] = {"",
                                     trace,
                                     "00-" + trace,
                                     "00-" + std::string(32, '0') + "-00f067aa0ba902b7-01",
                                     "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                     "00-" + trace.substr(1) + "\n-00f067aa0ba902b7-01"};
  for (const std::string& bad : bad_headers) {
    EXPECT_EQ(TraceIdOf(bad), "") << bad;
  }
}

}  // namespace
}  // namespace quotient::config
