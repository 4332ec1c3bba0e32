#include "core/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/report/example_report.h"

namespace quotient::report {
namespace {

TEST(ReportTest, SaysInTableAndPageWhatWasDecidedByWhat) {
  for (const std::string& text : {ToTable(Example()), ToHtml(Example())}) {
    EXPECT_NE(text.find("candidate 1 (predicted 30.0 %, measured -4.0 to -2.0 %, "
                        "by CPU time of one thread -3.5 to -2.5 % in 12 pairs of runs, expected "
                        "-3.0 %) "
                        "not taken: it is surely slower"),
              std::string::npos)
        << text;
    EXPECT_NE(
        text.find("candidate 2 without bad-merge (predicted 20.0 %, measured 23.5 to 26.2 % "
                  "in 40 pairs of runs, expected 24.5 %) taken: it was measured to be faster"),
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
    report.considered[1].measured_percent = report.speedup_interval;
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

// What a race on a busy machine leaves behind: two samples of the original, and CPU times.
Report OfABusyMachine() {
  Report report = Example();
  report.model_name = "model.onnx";
  report.original.measured = {.median_us = 35320, .p10_us = 35310, .p90_us = 35330, .runs = 2};
  report.original.measured.disturbed = true;
  report.optimized.measured = {};
  report.speedup_percent = 35.2;
  report.speedup_interval = {34.8, 35.6};
  report.considered = {{.grounds = Grounds::kCpuTime,
                        .cpu_time_percent = report.speedup_interval,
                        .pairs = 12,
                        .taken = true}};
  return report;
}

TEST(ReportTest, AGainOfCpuTimeIsCalledThat) {
  const Report report = OfABusyMachine();
  EXPECT_THAT(
      ToTable(report),
      ::testing::AllOf(
          ::testing::HasSubstr("improved on cpu (by the CPU time of runs on one thread, since "
                               "other work disturbed the machine)\n"),
          ::testing::HasSubstr("\n  measured          disturbed        not run           \n"
                               "  CPU time                                       35.2 %\n"
                               "    between*                                 34.8 to 35.6 %\n"),
          ::testing::Not(::testing::HasSubstr("p10"))));
  EXPECT_THAT(ToHtml(report),
              ::testing::AllOf(::testing::HasSubstr(">35.2 % less CPU time on one thread</div>"),
                               ::testing::HasSubstr("it takes 34.8 % to 35.6 % less, by the CPU"),
                               ::testing::HasSubstr("How it was decided")));
  // As where a subset of the work is taken, or a prediction helps.
  for (const Grounds grounds : {Grounds::kSubsetOfWork, Grounds::kPredictedAndMeasured}) {
    Report other = report;
    other.considered[0].grounds = grounds;
    EXPECT_THAT(ToHtml(other), ::testing::HasSubstr(">35.2 % less CPU time on one thread</div>"));
    other.speedup_interval = {-0.5, 1};
    EXPECT_THAT(ToHtml(other), ::testing::HasSubstr(">Improved</div>"));
  }
}

TEST(ReportTest, DisturbedRunsTellNoTime) {
  Report report = OfABusyMachine();
  for (const std::string& text : {ToTable(report), ToHtml(report), ToJson(report)}) {
    EXPECT_THAT(text, ::testing::AllOf(::testing::HasSubstr("disturbed"),
                                       ::testing::Not(::testing::ContainsRegex("35[.]?3[123]"))));
  }
  EXPECT_THAT(ToHtml(report), ::testing::HasSubstr("no time</b>"));
  EXPECT_THAT(ToJson(report), ::testing::HasSubstr("\"median\": null,\n   \"p10\": null,\n   "
                                                   "\"p90\": null,\n   \"runs\": 2,\n   "
                                                   "\"disturbed\": true"));
  const auto back = ReportFromJson(ToJson(report));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(report));
  EXPECT_EQ(ToTable(*back), ToTable(report));
  EXPECT_EQ(ToHtml(*back), ToHtml(report));
  report.outcome = Outcome::kNoImprovement;
  report.optimized = report.original;
  EXPECT_THAT(ToTable(report), ::testing::HasSubstr("disturbed      disturbed"));
}

TEST(ReportTest, AGainByFewRunsHasItsPercentage) {
  Report report = Example();
  report.considered[1].grounds = Grounds::kMeasuredLikely;
  report.considered[1].pairs = 3;
  const std::string why =
      "likely by the measurement, but not surely: only 3 pairs of runs, which is too few";
  EXPECT_THAT(ToTable(report), ::testing::HasSubstr("improved on cpu (" + why + ")\n"));
  EXPECT_THAT(ToHtml(report),
              ::testing::HasSubstr(">25.0 % faster</div><div class=\"soft\">" + why + " (see"));
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
  // The runtime refuses the model.
  report.outcome = Outcome::kNoImprovement;
  report.original.measured = report.optimized.measured = {};
  report.cut_nodes = 1;
  report.cut_nodes_run = true;
  const auto says = [](absl::string_view what) {
    return ::testing::AllOf(::testing::HasSubstr(what),
                            ::testing::Not(::testing::HasSubstr("Measured on")),
                            ::testing::Not(::testing::HasSubstr("is measured, but")));
  };
  EXPECT_THAT(ToTable(report), says("\nOnly kernels were measured on: ONNX Runtime 1.31.1"));
  EXPECT_THAT(ToTable(report), says("what it takes is in no figure"));
  EXPECT_THAT(ToHtml(report), says("Only kernels were measured on ONNX Runtime 1.31.1"));
  report.original.kernels = report.optimized.kernels = {0, 3};
  EXPECT_THAT(ToTable(report), says("\nNothing was measured on: ONNX Runtime 1.31.1"));
  EXPECT_THAT(ToHtml(report), says("Nothing was measured on ONNX Runtime 1.31.1"));
  report.measured = false;
  report.device = report.fingerprint = "model:h200";
  EXPECT_EQ(ToTable(report).find("easured on"), std::string::npos);
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

}  // namespace
}  // namespace quotient::report
