#include "client/cli/rule_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace quotient::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

timing::RuleTable Stats() {
  timing::DeviceRules device = {.jobs = 4, .last_unix_s = 1'700'000'000};
  device.rules[{"fold", "v1"}] = {2, 1, 30, 20, 44, 6, 0.5, 0.25, 1'700'000'000};
  device.rules[{"merge", "v1"}] = {1, 1, 3, 3, 9, 3, 0.4, 0.4, 1'600'000'000};
  device.rules[{"merge", "v0"}] = {9, 9, 9, 9, 9, 9, 9, 9, 1'500'000'000};
  return {{"model:h200; data sheet 2\x1b[31m", device}};
}
const RuleVersions kVersions = {{"fold", "v1"}, {"merge", "v1"}};

TEST(RuleStats, TableHasMeansAndThoseThatSavedMostFirst) {
  const std::string table = StatsTable(Stats(), kVersions);
  EXPECT_THAT(table, HasSubstr("model:h200 (data sheet 2"));
  EXPECT_THAT(table, HasSubstr(": 4 jobs, the last one at 2023-11-14T22:13:20Z\n"));
  EXPECT_THAT(table, HasSubstr("  merge                         1      1          3          3"
                               "          9        3   40.00 %   40.00 %\n"));
  EXPECT_THAT(table, HasSubstr("  fold                          2      1         30         20"
                               "         44        6   25.00 %   12.50 %\n"));
  EXPECT_LT(table.find("  merge"), table.find("  fold"));
  EXPECT_THAT(table, HasSubstr("  1 rule has changed since and is not shown; --json has it\n"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b"))) << "what a file says does not reach the terminal";
}

// Their jobs are counted apart.
TEST(RuleStats, DevicesWithOtherNumbersOfThreadsAreToldApart) {
  timing::RuleTable stats;
  for (const int threads : {1, 2}) {
    stats[absl::StrCat("onnxruntime; ONNX Runtime 1.31.1 on A; threads ", threads)].jobs = threads;
  }
  const std::string table = StatsTable(stats, kVersions);
  EXPECT_THAT(table, HasSubstr("onnxruntime (ONNX Runtime 1.31.1 on A, 1 thread): 1 job,"));
  EXPECT_THAT(table, HasSubstr("onnxruntime (ONNX Runtime 1.31.1 on A, 2 threads): 2 jobs,"));
  const auto devices = nlohmann::json::parse(StatsJson(stats, kVersions))["devices"];
  EXPECT_EQ(devices[1]["threads"], 2);
  EXPECT_TRUE(
      nlohmann::json::parse(StatsJson(Stats(), kVersions))["devices"][0]["threads"].is_null());
}

TEST(RuleStats, OfOneRule) {
  const timing::RuleTable merge = OnlyRule(Stats(), "merge");
  ASSERT_EQ(merge.size(), 1u);
  const timing::DeviceRules& device = merge.begin()->second;
  EXPECT_EQ(device.jobs, 4);
  ASSERT_EQ(device.rules.size(), 2u) << "the present version and an earlier one";
  EXPECT_EQ(device.rules.begin()->first.name, "merge");
  EXPECT_TRUE(OnlyRule(Stats(), "split").empty());
}

TEST(RuleStats, TableOfNothing) {
  EXPECT_EQ(StatsTable({}, kVersions), "No job has been counted yet.\n");
}

TEST(RuleStats, JsonHasEarlierVersionsToo) {
  const auto json = nlohmann::json::parse(StatsJson(Stats(), kVersions));
  const auto& device = json["devices"][0];
  EXPECT_EQ(device["jobs"], 4);
  ASSERT_EQ(device["rules"].size(), 3u);
  EXPECT_EQ(device["rules"][0]["version"], "v0");
  EXPECT_EQ(device["rules"][0]["present"], false);
  EXPECT_EQ(device["rules"][1]["rule"], "merge");
  EXPECT_EQ(device["rules"][1]["present"], true);
  EXPECT_EQ(device["rules"][2]["saved_percent"], 25);
  EXPECT_EQ(device["rules"][2]["saved_alone_percent"], 12.5);
  EXPECT_EQ(device["rules"][2]["jobs_won"], 1);
}

}  // namespace
}  // namespace quotient::cli
