#include <gtest/gtest.h>

#include "core/report/report.h"
#include "tests/core/report/example_report.h"

namespace quotient::report {
namespace {

TEST(ReportJsonTest, ReadsBackWhatItWrote) {
  const std::string json = ToJson(Example());
  const auto report = ReportFromJson(json);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(ToJson(*report), json);
  EXPECT_EQ(report->original.measured.error_norm, 2e-6);
  EXPECT_EQ(report->optimized.measured.error_norm, std::nullopt);
  EXPECT_EQ(report->nodes[0].after_us, std::nullopt);
  EXPECT_EQ(report->drawn_before[1].inputs, (std::vector<int>{0}));
}

TEST(ReportJsonTest, TellsWhatGained) {
  const Gains gains = ReportFromJson(ToJson(Example()))->gains;
  ASSERT_EQ(gains.by_rules.size(), 3u);
  EXPECT_EQ(gains.by_rules[0].rules, (std::vector<std::string>{"bn-conv", "fold"}));
  EXPECT_EQ(gains.by_rules[0].saved_us(), 23.75);
  EXPECT_EQ(gains.by_rules[0].regions[0].sites, (std::vector<std::string>{"<conv1>", "conv2"}));
  EXPECT_EQ(gains.by_rules[0].regions[0].before[1].ops, "BatchNormalization");
  EXPECT_EQ(gains.by_rules[0].regions[0].before[1].count, 2);
  EXPECT_TRUE(gains.by_rules[1].estimated);
  EXPECT_EQ(gains.others_us, -0.5);
  EXPECT_NE(ToJson(Example()).find("\"saved_us\": 23.75"), std::string::npos);
}

TEST(ReportJsonTest, HoldsTheAnswersToQuestions) {
  const std::vector<WhyNot> answers = ReportFromJson(ToJson(Example()))->why_not;
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].node, "<conv2>");
  EXPECT_EQ(answers[0].details, std::vector<std::string>{"the best graph with it costs 90 us"});
  EXPECT_EQ(answers[0].with_us, 90);
  EXPECT_EQ(answers[1].answer, "no_node");
  EXPECT_EQ(answers[1].without_us, std::nullopt);
}

TEST(ReportJsonTest, EveryKindOfGroundsHasAName) {
  for (const Grounds grounds : {Grounds::kNotSure, Grounds::kSurelySlower, Grounds::kMeasured,
                                Grounds::kCpuTime, Grounds::kMeasuredLikely, Grounds::kSubsetOfWork,
                                Grounds::kPredictedAndMeasured, Grounds::kPredicted}) {
    EXPECT_EQ(GroundsOfName(GroundsName(grounds)), grounds);
  }
  EXPECT_EQ(GroundsOfName("a guess"), std::nullopt);
}

TEST(ReportJsonTest, WhereNothingWasComparedThereIsNoVerdict) {
  Report report = Example();
  EXPECT_NE(ToJson(report).find("\"passed\": true"), std::string::npos);
  report.verification = {.tolerance = 1e-4};
  EXPECT_NE(ToJson(report).find("\"passed\": null"), std::string::npos);
  EXPECT_TRUE(ReportFromJson(ToJson(report)).ok());
}

TEST(ReportJsonTest, HoldsTheFieldsThatScriptsRead) {
  const std::string json = ToJson(Example());
  for (const char* key : {"\"outcome\": \"improved\"",
                          "\"original\"",
                          "\"optimized\"",
                          "\"predicted_us\"",
                          "\"measured_us\"",
                          "\"median\"",
                          "\"p10\"",
                          "\"p90\"",
                          "\"error_norm\": 2e-06",
                          "\"speedup_percent\": 25",
                          "\"speedup_interval_percent\"",
                          "\"low\": 23.5",
                          "\"high\": 26.25",
                          "\"predicted_speedup_percent\"",
                          "\"grounds\": \"surely_slower\"",
                          "\"bad-merge\"",
                          "\"cpu_time_percent\"",
                          "\"low\": -3.5",
                          "\"pairs\": 40",
                          "\"disturbed\": false",
                          "\"expected_percent\": 24.5",
                          "\"probability\": 0.99",
                          "\"taken\": true",
                          "\"max_relative_error\"",
                          "\"inputs\"",
                          "\"bindings\"",
                          "\"nodes\": 11",
                          "\"bindings_note\": \"a second",
                          "\"strategy\"",
                          "\"seconds\"",
                          "\"grow_seconds\": 1.4",
                          "\"enodes\"",
                          "\"stop_reason\"",
                          "\"simulations\": 321",
                          "\"states\": 123",
                          "\"best_costs\"",
                          "\"enode_cost_us\": 90",
                          "\"saved_alone_us\"",
                          "\"resumed\"",
                          "\"times\": 2",
                          "\"simulations\": 210",
                          "\"applied\": 5",
                          "\"device\"",
                          "\"fingerprint\"",
                          "\"journal\"",
                          "\"rule\"",
                          "\"site\"",
                          "\"before\"",
                          "\"after\"",
                          "\"steps\"",
                          "\"before_us\"",
                          "\"after_us\"",
                          "\"spread\"",
                          "\"before_source\": \"measured\"",
                          "\"after_source\": \"estimated\"",
                          "\"estimated\": true"}) {
    EXPECT_NE(json.find(key), std::string::npos) << key;
  }
}

TEST(ReportJsonTest, WhatWasNotMeasuredIsNull) {
  Report report = Example();
  report.original.measured = report.optimized.measured = {};
  report.speedup_percent = 0;
  const std::string json = ToJson(report);
  EXPECT_NE(json.find("\"median\": null"), std::string::npos);
  EXPECT_NE(json.find("\"speedup_percent\": null"), std::string::npos);
  const auto back = ReportFromJson(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), json);
}

TEST(ReportJsonTest, RefusesWhatIsNoReport) {
  for (const char* text : {"", "[]", "{\"nodes\": 3}", "{\"outcome\": 3}", "{",
                           "{\"original\": {\"nodes\": \"x\"}}"}) {
    EXPECT_FALSE(ReportFromJson(text).ok()) << text;
  }
}

}  // namespace
}  // namespace quotient::report
