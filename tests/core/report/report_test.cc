#include "core/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/report/html.h"

namespace quotient::report {
namespace {

Report Example() {
  Report report;
  report.outcome = Outcome::kImproved;
  report.model_name = "<script>alert(1)</script>\xff";
  report.engine_version = "0.1.0";
  report.measured = true;
  report.device = "cpu";
  report.fingerprint = "cpu; AMD & sons; flags avx";
  report.threads = 2;
  report.original = {12, 100.5, {10, 0}, {120, 119, 125, 40, 2e-6}};
  report.optimized = {9, 80.25, {7, 1}, {90, 89, 99, 40}};
  report.speedup_percent = 25;
  report.predicted_speedup_percent = 20.1;
  report.speedup_interval = {23.5, 26.25};
  report.considered = {
      {{}, Grounds::kSurelySlower, 30, PercentRange{-4, -2}, -3, 0.01},
      {{"bad-merge"}, Grounds::kMeasured, 20, PercentRange{23.5, 26.25}, 24.5, 0.99, true}};
  report.verification = {true, 1e-7, 1e-4, 2};
  report.verification.bindings = {{{{"<x>", {2, 3, 35}}}, "a <kind>", 11, 1}};
  report.verification.bindings_note = "a second binding would take too long to check";
  report.search = {"mcts", 1.5, 1.4, 1000, 400, 7, "saturated", 33};
  report.search.simulations = 321;
  report.search.states = 123;
  report.search.best_costs = {{0, 0, 100.5}, {0.25, 17, 90}, {1.25, 300, 80.25}};
  report.search.applied = {{"bn-conv", 5}, {"fold", 9}};
  report.search.resumed = {2, 210, 0.75};
  report.journal = {
      {"bn-conv", "bn1", "BatchNormalization(Conv(x))", "Conv(x)", {"bn-conv", "fold"}}};
  report.gains.by_rules = {
      {.rules = {"bn-conv", "fold"},
       .regions = {{.before = {{"Conv", 2, 40.5}, {"BatchNormalization", 2, 20}},
                    .after = {{"Conv", 2, 38}},
                    .sites = {"<conv1>", "conv2"}},
                   {.before = {{"Relu", 1, 1.25}}, .after = {}, .sites = {"relu"}}}},
      {.regions = {{.before = {{"Add", 1, 3.5}}, .after = {{"Sub", 1, 7}}, .sites = {"sum"}}},
       .estimated = true},
      {.rules = {"a", "b", "c", "d", "e"},
       .regions = {{.before = {{"Exp", 1, 3}}, .after = {{"Log", 1, 3}}, .sites = {"exp"}}}}};
  report.gains.others_us = -0.5;
  report.nodes = {{"bn1", "BatchNormalization", 30.0, std::nullopt, "measured", "", 0.02},
                  {"conv1", "Conv", 70.5, 80.25, "measured", "estimated", 0.01}};
  report.drawn_before = {{"conv1", "Conv", {}, false, 70.5},
                         {"bn1", "BatchNormalization", {0}, true, 30}};
  report.drawn_after = {{"conv1", "Conv", {}, true, 80.25, true}};
  report.phase_seconds = {{"search", 1.5}};
  report.notes = {"batch was taken as 1"};
  return report;
}

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

TEST(ReportJsonTest, EveryKindOfGroundsHasAName) {
  for (const Grounds grounds :
       {Grounds::kNotSure, Grounds::kSurelySlower, Grounds::kMeasured, Grounds::kSubsetOfWork,
        Grounds::kPredictedAndMeasured, Grounds::kPredicted}) {
    EXPECT_EQ(GroundsOfName(GroundsName(grounds)), grounds);
  }
  EXPECT_EQ(GroundsOfName("a guess"), std::nullopt);
}

TEST(ReportTest, SaysInTableAndPageWhatWasDecidedByWhat) {
  for (const std::string& text : {ToTable(Example()), ToHtml(Example())}) {
    EXPECT_NE(text.find("candidate 1 (predicted 30.0 %, measured -4.0 to -2.0 %, expected -3.0 %) "
                        "not taken: it is surely slower"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("candidate 2 without bad-merge (predicted 20.0 %, measured 23.5 to 26.2 %, "
                        "expected 24.5 %) taken: it was measured to be faster"),
              std::string::npos)
        << text;
  }
}

TEST(ReportTest, WhereEstimatesDifferNoGainIsPredicted) {
  Report report = Example();
  report.predicted_speedup_percent.reset();
  report.considered[1].predicted_percent.reset();
  EXPECT_THAT(ToTable(report), ::testing::AllOf(::testing::HasSubstr("unknown"),
                                                ::testing::HasSubstr("gain not predicted")));
  EXPECT_THAT(ToHtml(report), ::testing::HasSubstr("gain unknown: estimates differ"));
  EXPECT_THAT(ToJson(report), ::testing::HasSubstr("\"predicted_speedup_percent\": null"));
  const auto read = ReportFromJson(ToJson(report));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->predicted_speedup_percent.has_value());
  EXPECT_FALSE(read->considered[1].predicted_percent.has_value());
}

// Whether it looks like a gain or a loss: what is within the noise is no finding.
TEST(ReportTest, WhereTheMeasurementDoesNotTellHeadingsSaySo) {
  for (const double percent : {-4.0, 4.0}) {
    Report report = Example();
    report.speedup_percent = percent;
    report.speedup_interval = {-9.5, 12};
    report.considered[1].grounds = Grounds::kSubsetOfWork;
    EXPECT_THAT(ToTable(report),
                ::testing::AllOf(
                    ::testing::HasSubstr(": improved on cpu (it does only a part of the work; the "
                                         "measurement alone does not tell)\n"),
                    ::testing::HasSubstr("-9.5 to 12.0 %"),
                    ::testing::Not(::testing::HasSubstr("surely*"))));
    EXPECT_THAT(ToHtml(report),
                ::testing::AllOf(::testing::HasSubstr(
                                     ">Improved</div><div class=\"soft\">it does only a part of "
                                     "the work; the measurement alone does not tell (see how"),
                                 ::testing::Not(::testing::HasSubstr("4.0 % faster"))));
  }
}

TEST(ReportTest, WhereNothingWasRunTheHeadingSaysSo) {
  Report report = Example();
  report.measured = false;
  report.device = "model:h200";
  report.considered = {{.grounds = Grounds::kPredicted, .taken = true}};
  EXPECT_THAT(ToTable(report),
              ::testing::HasSubstr(": improved on model:h200 (by prediction; nothing was run)\n"));
  EXPECT_THAT(ToHtml(report), ::testing::HasSubstr("20.1 % faster"));
  report.predicted_speedup_percent.reset();  // Gains by estimates are not told as numbers.
  EXPECT_THAT(ToHtml(report), ::testing::HasSubstr(">Improved</div>"));
}

TEST(ReportTest, StatusesAreWordsAndNamesOfSnapshotsAreShort) {
  Report report = Example();
  report.outcome = Outcome::kNoImprovement;
  report.measured = false;
  report.device = "snapshot:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824/5";
  report.recorded = {"cpu", "2026-03-14T09:26:53Z", "0.1.0"};
  report.search.stop_reason = "node_limit";
  EXPECT_THAT(ToTable(report),
              ::testing::AllOf(::testing::HasSubstr(": no improvement on snapshot:2cf24dba5fb0\n"),
                               ::testing::HasSubstr("ended by node limit\n")));
  EXPECT_THAT(ToHtml(report),
              ::testing::AllOf(::testing::HasSubstr("by Quotient for snapshot:2cf24dba5fb0"),
                               ::testing::HasSubstr("ended by node limit"),
                               ::testing::Not(::testing::HasSubstr("2cf24dba5fb0a"))));
  EXPECT_THAT(ToJson(report), ::testing::AllOf(::testing::HasSubstr("\"no_improvement\""),
                                               ::testing::HasSubstr(report.device),
                                               ::testing::HasSubstr("\"node_limit\"")));
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
                          "\"applied\"",
                          "\"resumed\"",
                          "\"times\": 2",
                          "\"simulations\": 210",
                          "\"bn-conv\": 5",
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

TEST(ReportHtmlTest, EscapesEveryName) {
  const std::string html = ToHtml(Example());
  EXPECT_NE(
      html.find("also at &lt;x&gt;=2,3,35 (a &lt;kind&gt;): 11 nodes, 1 cut out; a second binding"),
      std::string::npos);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(html.find("25.0 % faster"), std::string::npos);
  EXPECT_NE(html.find("AMD &amp; sons"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos) << "nothing from elsewhere";
}

TEST(ReportHtmlTest, ShowsTheSearch) {
  const std::string html = ToHtml(Example());
  EXPECT_NE(html.find("321 simulations, 123 different states"), std::string::npos);
  EXPECT_NE(html.find("<polyline"), std::string::npos);
  EXPECT_NE(html.find("in the end a gain of 20.1 %"), std::string::npos);
  EXPECT_NE(html.find("The search was resumed 2 times, the last time with what 210 simulations"),
            std::string::npos);
  EXPECT_NE(html.find("steps in the journal"), std::string::npos);
  EXPECT_NE(html.find("<td>fold</td><td class=\"num\">9</td><td class=\"num\">1</td>"),
            std::string::npos);
  Report plain = Example();
  plain.search = {"saturate", 1.5, 1.4, 1000, 400, 7, "saturated", 33};
  EXPECT_EQ(ToHtml(plain).find("The search"), std::string::npos);
}

TEST(ReportTest, EstimatesAreMarked) {
  const std::string table = ToTable(Example()), html = ToHtml(Example());
  for (const char* const text :
       {"  predicted          100.5 us       ~80.2 us     20.1 %\n", "      70.5 us     ~80.2 us\n",
        "\n  ~ estimated and not measured"}) {
    EXPECT_NE(table.find(text), std::string::npos) << text << table;
  }
  for (const char* const text : {"100.5 µs → ~80.2 µs", ">70.5 µs<", ">~80.2 µs<", ">~80.25<",
                                 ">measured → estimated<", "~ estimated and not measured"}) {
    EXPECT_NE(html.find(text), std::string::npos) << text;
  }
  Report measured = Example();
  measured.optimized.kernels.estimated = 0;
  measured.gains.by_rules[1].estimated = false;
  measured.nodes[1].after_source = "measured";
  measured.drawn_after[0].estimated = false;
  EXPECT_EQ(ToTable(measured).find('~'), std::string::npos);
  EXPECT_EQ(ToHtml(measured).find('~'), std::string::npos);
}

TEST(ReportHtmlTest, NoImprovementSaysSo) {
  Report report = Example();
  report.outcome = Outcome::kNoImprovement;
  EXPECT_NE(ToHtml(report).find("No improvement"), std::string::npos);
  EXPECT_EQ(ToHtml(report).find("nothing was measured"), std::string::npos);
  report.measured = false;
  EXPECT_NE(ToHtml(report).find("nothing was measured"), std::string::npos);
}

TEST(ReportTest, WhatNobodyUnderstandsIsInNoGain) {
  Report report = Example();
  EXPECT_EQ(ToTable(report).find("not understood"), std::string::npos);
  EXPECT_EQ(ToHtml(report).find("faster in part"), std::string::npos);
  report.cut_nodes = 2;
  EXPECT_NE(ToTable(report).find("  without 2 nodes that are not understood: what they take is in "
                                 "no figure\n"),
            std::string::npos);
  const std::string html = ToHtml(report);
  EXPECT_NE(html.find("% faster in part<"), std::string::npos);
  EXPECT_NE(html.find("without 2 nodes that are not understood"), std::string::npos);
  const std::string json = ToJson(report);
  const auto back = ReportFromJson(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->cut_nodes, 2);
  EXPECT_EQ(ToJson(*back), json);
  report.cut_nodes_run = true;  // Whole files were run.
  EXPECT_NE(ToTable(report).find("  without 2 nodes that are not understood: what they take is "
                                 "measured, but in no prediction\n"),
            std::string::npos);
  EXPECT_EQ(ToHtml(report).find("faster in part"), std::string::npos);
  EXPECT_TRUE(ReportFromJson(ToJson(report))->cut_nodes_run);
}

TEST(ReportTest, SaysWhereItWasMeasuredAndWithWhat) {
  Report report = Example();
  report.device = "onnxruntime";
  report.fingerprint = "onnxruntime; ONNX Runtime 1.31.1 on AMD & sons; build 01; flags avx";
  EXPECT_NE(ToTable(report).find(
                " on onnxruntime\nMeasured on: ONNX Runtime 1.31.1 on AMD & sons, 2 threads, by "
                "Quotient 0.1.0\n"),
            std::string::npos);
  EXPECT_NE(ToHtml(report).find("cost report by Quotient for onnxruntime: ONNX Runtime 1.31.1 on "
                                "AMD &amp; sons, 2 threads<"),
            std::string::npos);
  const std::string json = ToJson(report);
  EXPECT_NE(json.find("\"hardware\": \"AMD & sons\""), std::string::npos);
  EXPECT_NE(json.find("\"library\": \"ONNX Runtime 1.31.1\""), std::string::npos);
  report.measured = false;
  report.device = report.fingerprint = "model:h200";
  EXPECT_EQ(ToTable(report).find("Measured on"), std::string::npos);
}

TEST(ReportTest, WhatWasRecordedIsNotCalledMeasured) {
  Report report = Example();
  report.measured = false;
  report.recorded = {"cpu", "2026-03-14T09:26:53Z", "0.1.0"};
  report.original.measured = report.optimized.measured = {};
  const std::string table = ToTable(report), html = ToHtml(report), json = ToJson(report);
  for (const std::string& text : {table, html}) {
    EXPECT_NE(text.find("recorded on cpu, 2026-03-14T09:26:53Z, those of 10 of 10 kernels of the "
                        "original and 7 of 8 kernels of the result"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(table.find("\nRecorded on: AMD & sons, 2 threads, by Quotient 0.1.0\n"),
            std::string::npos);
  EXPECT_NE(html.find("predicted from recorded times and estimates; nothing was measured now"),
            std::string::npos);
  EXPECT_NE(html.find("by engine 0.1.0"), std::string::npos);
  Report known = report;
  known.optimized.kernels.estimated = 0;
  EXPECT_NE(ToHtml(known).find("predicted from recorded times; nothing was measured now"),
            std::string::npos);
  EXPECT_EQ(ToTable(known).find("estimated"), std::string::npos);
  report.outcome = Outcome::kNoImprovement;
  EXPECT_NE(ToHtml(report).find("Nothing is cheaper by the times"), std::string::npos);
  const auto back = ReportFromJson(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), json);
  EXPECT_EQ(back->recorded->time, "2026-03-14T09:26:53Z");
  EXPECT_EQ(back->optimized.kernels.estimated, 1);
}

TEST(ReportTest, ASnapshotWithoutAnyOfTheKernelsIsNotCalledARecording) {
  Report report = Example();
  report.measured = false;
  report.recorded = {"cpu", "2026-03-14T09:26:53Z", "0.1.0"};
  report.original.measured = report.optimized.measured = {};
  report.original.kernels = {0, 10};
  report.optimized.kernels = {0, 8};
  const std::string table = ToTable(report), html = ToHtml(report);
  for (const std::string& text : {table, html}) {
    EXPECT_NE(
        text.find("has the costs of 0 of 10 kernels of the original and 0 of 8 kernels of the "
                  "result: all are estimated."),
        std::string::npos)
        << text;
    EXPECT_EQ(text.find("costs were recorded"), std::string::npos) << text;
  }
  EXPECT_NE(html.find("predicted by estimates alone"), std::string::npos);
  report.outcome = Outcome::kNoImprovement;
  EXPECT_NE(ToHtml(report).find("Nothing is cheaper by estimates"), std::string::npos);
}

// Costs were measured, but running whole graphs failed.
TEST(ReportTest, NoTimesOfRunsThatNeverWere) {
  Report report = Example();
  report.outcome = Outcome::kNoImprovement;
  report.original.measured = report.optimized.measured = {};
  EXPECT_NE(ToHtml(report).find("Nothing could be run"), std::string::npos);
  EXPECT_EQ(ToHtml(report).find("runs, median"), std::string::npos);
  EXPECT_EQ(ToTable(report).find("\n  measured "), std::string::npos);
  EXPECT_NE(ToTable(Example()).find("\n  measured "), std::string::npos);
}

TEST(ReportHtmlTest, WhatNeedsNoCheckWasNotChecked) {
  Report report = Example();
  report.outcome = Outcome::kNoImprovement;
  report.verification = {true, 0, 1e-4, 0};
  EXPECT_NE(ToHtml(report).find("not needed"), std::string::npos);
}

TEST(DrawGraphTest, FoldsWhatDidNotChange) {
  std::vector<DrawnNode> chain;
  for (int i = 0; i < 30; ++i) {
    chain.push_back(
        {"n", "Relu", i == 0 ? std::vector<int>{} : std::vector<int>{i - 1}, i == 15, 1});
  }
  const std::string svg = DrawGraph(chain);
  EXPECT_NE(svg.find("14 unchanged nodes"), std::string::npos) << svg;
  EXPECT_NE(svg.find("13 unchanged nodes"), std::string::npos) << svg;
}

TEST(DrawGraphTest, SurvivesEmptyAndForwardEdges) {
  EXPECT_NE(DrawGraph({}).find("<svg"), std::string::npos);
  EXPECT_NE(DrawGraph({{"a", "Relu", {5, -1, 0}, true, 1}}).find("<rect"), std::string::npos);
}

TEST(ReportTableTest, ShowsTheSearch) {
  Report report = Example();
  EXPECT_NE(ToTable(report).find(
                "  search: mcts, 1.5 s, 1000 e-nodes, 321 simulations, 123 different states, "
                "33 kernels measured, ended by saturated\n"
                "  search: gain by e-nodes 10.4 % @ 0.25 s, 20.1 % @ 1.25 s\n"),
            std::string::npos)
      << ToTable(report);
  report.search = {"mcts", 1.5, 1.4, 1, 1, 1, "saturated", 1, 1, 1, {{0, 0, 7}}};
  EXPECT_NE(ToTable(report).find("1 e-node, 1 simulation, 1 different state, 1 kernel measured, "),
            std::string::npos);
  EXPECT_EQ(ToTable(report).find("gain by e-nodes"), std::string::npos);
}

TEST(ReportTableTest, OfManyStepsAFewAreShownWithTheFirstAndTheLast) {
  Report report = Example();
  report.search.best_costs.clear();
  for (int i = 0; i <= 100; ++i) report.search.best_costs.push_back({0.01 * i, i, 200.0 - i});
  EXPECT_NE(ToTable(report).find("gain by e-nodes 0.5 % @ 0.01 s, 10.0 % @ 0.2 s, 20.0 % @ 0.4 s, "
                                 "30.0 % @ 0.6 s, 40.0 % @ 0.8 s, 50.0 % @ 1 s\n"),
            std::string::npos);
}

TEST(ReportTableTest, LeadsWithWhatGained) {
  const std::string table = ToTable(Example());
  constexpr char kGains[] = R"(
         saved   of all  predicted, by rules
       23.8 us   23.6 %  bn-conv, fold: 3 places
       22.5 us   22.4 %    x 2  Conv, BatchNormalization -> Conv, first at <conv1>
        1.2 us    1.2 %    x 1  Relu -> nothing, at relu
      ~-3.5 us   -3.5 %  (no rule: constants folded, equal parts merged): 1 place
      ~-3.5 us   -3.5 %    x 1  Add -> Sub, at sum
       ~0.0 us    0.0 %  1 other combination of rules
      ~-0.5 us   -0.5 %  kernels that both have, in other surroundings

  node )";
  EXPECT_NE(table.find(kGains), std::string::npos) << table;
  Report same = Example();
  same.gains = {};
  EXPECT_EQ(ToTable(same).find("of all"), std::string::npos);
}

// Names of nodes differ at their ends.
TEST(ReportTableTest, OfLongLinesAndNamesTheEndIsKept) {
  const std::string block = "/model/encoder/block.11/layer.0/SelfAttention/projection/";
  Report report = Example();
  RegionGain& region = report.gains.by_rules[0].regions[0];
  region.sites = {block + "q/MatMul", block + "k/MatMul"};
  region.after = {{"Conv + Add + Relu + Add + Relu + Add + Relu + Add + Relu", 2, 38}};
  report.nodes[1].name = block + "q/MatMul";
  const std::string table = ToTable(report);
  EXPECT_NE(table.find("  x 2  Conv, BatchNormalization -> Conv + Add .., first at "
                       "/model/..elfAttention/projection/q/MatMul\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("\n  /model/encod..ention/projection/q/MatMul Conv "), std::string::npos)
      << table;
}

TEST(ReportTableTest, OfManyRulesAFewAreNamed) {
  Report report = Example();
  report.gains.by_rules[2].regions[0].after.clear();
  const std::string table = ToTable(report);
  EXPECT_NE(table.find("  a, b, c, d and 1 more: 1 place\n"), std::string::npos) << table;
  EXPECT_NE(ToHtml(report).find("<b>a, b, c, d, e: 1 place</b>"), std::string::npos);
}

TEST(ReportTest, NodesOfRepeatedBlocksAreOneRow) {
  Report report = Example();
  for (const char* const name : {"conv2", "conv3"}) {
    report.nodes.push_back(report.nodes[1]);
    report.nodes.back().name = name;
  }
  report.nodes.push_back(report.nodes[1]);
  report.nodes.back().before_us = 70;
  const std::string table = ToTable(report);
  EXPECT_NE(table.find("  conv1 (x 3)                              Conv "), std::string::npos)
      << table;
  EXPECT_NE(table.find("  conv1                                    Conv "), std::string::npos);
  EXPECT_NE(ToHtml(report).find("<td>conv1 (x 3)</td>"), std::string::npos);
}

TEST(ReportHtmlTest, ShowsWhatGained) {
  const std::string html = ToHtml(Example());
  const size_t gains = html.find("<h2>What gained</h2>"),
               nodes = html.find("<h2>Cost per node</h2>");
  ASSERT_NE(gains, std::string::npos);
  EXPECT_LT(gains, nodes);
  EXPECT_NE(html.find("2 x Conv, BatchNormalization -&gt; Conv, first at &lt;conv1&gt;</td><td "
                      "class=\"num\">22.5 µs</td><td class=\"num\">22.4 %</td>"),
            std::string::npos)
      << html;
}

TEST(ReportTableTest, SaysWhatWasMeasured) {
  const std::string table = ToTable(Example());
  EXPECT_NE(table.find("improved on cpu"), std::string::npos);
  EXPECT_NE(table.find("search: resumed 2 times, the last time with what 210 simulations"),
            std::string::npos);
  Report model = Example();
  model.measured = false;
  model.device = "model:h200";
  EXPECT_NE(ToTable(model).find("Nothing was measured"), std::string::npos);
}

}  // namespace
}  // namespace quotient::report
