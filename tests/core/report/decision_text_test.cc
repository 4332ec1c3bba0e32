#include "core/report/decision_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quotient::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> LinesOf(std::vector<Considered> considered) {
  return DecisionLines(considered);
}

TEST(DecisionTextTest, WithoutCandidatesThereAreNoLines) { EXPECT_THAT(LinesOf({}), IsEmpty()); }

TEST(DecisionTextTest, CandidatesAreNumberedFromOneAndNameTheRulesThatTheyLeaveOut) {
  EXPECT_THAT(
      LinesOf({{.predicted_percent = 12.34},
               {.left_out = {"bad-merge"}, .predicted_percent = -1},
               {.left_out = {"a", "b"}}}),
      ElementsAre("candidate 1 (predicted 12.3 %) not taken: a gain of half a percent is not sure",
                  "candidate 2 without bad-merge (predicted -1.0 %) not taken: a gain of "
                  "half a percent is not sure",
                  "candidate 3 without a, b (gain not predicted) not taken: a gain of half a "
                  "percent is not sure"));
}

TEST(DecisionTextTest, WhatWasMeasuredStandsBesideThePrediction) {
  EXPECT_THAT(
      LinesOf({{.grounds = Grounds::kMeasured,
                .predicted_percent = 20,
                .measured_percent = PercentRange{-1.25, 26.04},
                .expected_percent = 12.5,
                .taken = true}}),
      ElementsAre("candidate 1 (predicted 20.0 %, measured -1.2 to 26.0 %, expected 12.5 %) taken: "
                  "it was measured to be faster"));
}

TEST(DecisionTextTest, WhereTheMachineIsBusyCpuTimeIsNamed) {
  Report report;
  report.considered = {{.predicted_percent = 20,
                        .cpu_time_percent = PercentRange{1.5, 2.5},
                        .expected_percent = 2,
                        .taken = true}};
  EXPECT_THAT(DecisionLines(report.considered).front(),
              testing::HasSubstr("by CPU time of one thread 1.5 to 2.5 %, expected 2.0 %)"));
  EXPECT_THAT(IntervalText(report), testing::HasSubstr("CPU time"));
  report.considered[0].taken = false;
  EXPECT_THAT(IntervalText(report), testing::HasSubstr("turn by turn"));
}

TEST(DecisionTextTest, AGainThatRunsShowAndThatIsNotTakenIsExplained) {
  EXPECT_THAT(LinesOf({{.measured_percent = PercentRange{0.5, 0.6}, .pairs = 48}}),
              ElementsAre(testing::EndsWith("a gain of half a percent is not sure, as its place in "
                                            "memory may make as much")));
  EXPECT_THAT(LinesOf({{.measured_percent = PercentRange{2, 8}, .pairs = 3},
                       {.measured_percent = PercentRange{2, 8},
                        .cpu_time_percent = PercentRange{0.6, 0.8},
                        .pairs = 48}}),
              testing::Each(testing::EndsWith("a gain of half a percent is not sure")));
}

TEST(DecisionTextTest, HowManyPairsOfRunsDecidedIsTold) {
  EXPECT_THAT(
      LinesOf({{.predicted_percent = 1,
                .measured_percent = PercentRange{23.2, 24.5},
                .pairs = 1,
                .expected_percent = 23}}),
      ElementsAre(testing::HasSubstr("measured 23.2 to 24.5 % in 1 pair of runs, expected")));
}

// The heading of a result that was taken like this.
std::string GroundsOf(Considered taken) {
  Report report;
  report.outcome = Outcome::kImproved;
  taken.taken = true;
  report.considered = {{.grounds = Grounds::kPredictedAndMeasured}, taken};
  return GroundsText(report);
}

TEST(DecisionTextTest, HeadingsSayOnWhatAnImprovementRests) {
  EXPECT_EQ(GroundsOf({.grounds = Grounds::kMeasured}), "");
  EXPECT_EQ(GroundsOf({.grounds = Grounds::kPredicted}), "by prediction; nothing was run");
  EXPECT_EQ(GroundsOf({.grounds = Grounds::kCpuTime, .cpu_time_percent = PercentRange{34, 36}}),
            "by the CPU time of runs on one thread, since other work disturbed the machine");
  const std::string likely = "likely by the measurement, but not surely: ";
  EXPECT_EQ(GroundsOf({.grounds = Grounds::kMeasuredLikely,
                       .measured_percent = PercentRange{23.2, 24.5},
                       .pairs = 5}),
            likely + "only 5 pairs of runs, which is too few");
  EXPECT_EQ(GroundsOf({.grounds = Grounds::kMeasuredLikely,
                       .measured_percent = PercentRange{-1, 9},
                       .pairs = 6}),
            likely + "noise leaves a doubt");
  Report report;
  report.considered = {{.grounds = Grounds::kPredicted}};
  EXPECT_EQ(GroundsText(report), "") << "nothing was taken";
  // Reports of older servers lack the candidates.
  EXPECT_EQ(GroundsText({.outcome = Outcome::kImproved}), "");
}

TEST(DecisionTextTest, HeadingsSayWhyRunsAloneDoNotTell) {
  struct Case {
    Considered taken;
    std::string why;
  };
  const std::vector<Case> cases = {
      {{.measured_percent = PercentRange{-2, 3}, .pairs = 48},
       "the measurement alone does not tell"},
      {{.measured_percent = PercentRange{23.2, 24.5}, .pairs = 4},
       "only 4 pairs of runs, which is too few"},
      {{.measured_percent = PercentRange{0.2, 0.4}, .pairs = 48},
       "the measured gain may be below half a percent"},
      {{.measured_percent = PercentRange{0.6, 0.9}, .pairs = 48},
       "its place in memory may make as much"},
      {{.cpu_time_percent = PercentRange{-1, 2}, .pairs = 48},
       "the CPU time of runs on one thread does not tell"},
      {{.cpu_time_percent = PercentRange{0.3, 0.6}, .pairs = 48},
       "so small a gain in CPU time on one thread may be none with more"},
      {{}, "its time is not known"},
  };
  for (Case each : cases) {
    each.taken.grounds = Grounds::kSubsetOfWork;
    EXPECT_EQ(GroundsOf(each.taken), "it does only a part of the work; " + each.why);
    each.taken.grounds = Grounds::kPredictedAndMeasured;
    const bool by_cpu_time = each.taken.cpu_time_percent.has_value();
    EXPECT_EQ(GroundsOf(each.taken), std::string("by prediction and ") +
                                         (by_cpu_time ? "CPU time" : "measurement") +
                                         " together; " + each.why);
  }
}

TEST(DecisionTextTest, AGainIsToldWithWhatItIs) {
  Report report;
  report.outcome = Outcome::kImproved;
  report.original.measured.runs = report.optimized.measured.runs = 9;
  report.speedup_percent = 12.34;
  EXPECT_EQ(MeasuredGainText(report), "12.3 % faster");
  report.speedup_interval = {11, 13};
  report.considered = {{.grounds = Grounds::kMeasuredLikely, .taken = true}};
  EXPECT_EQ(MeasuredGainText(report), "12.3 % faster");
  report.considered[0].cpu_time_percent = {11, 13};
  EXPECT_EQ(MeasuredGainText(report), "12.3 % less CPU time on one thread");
  report.speedup_interval = {-1, 13};
  EXPECT_EQ(MeasuredGainText(report), "") << "it may be a loss";
  report.speedup_interval.reset();
  EXPECT_EQ(MeasuredGainText(report), "") << "it is not known";
}

// Each reason, and whether a candidate that has it could have been taken.
TEST(DecisionTextTest, EachReasonIsASentence) {
  struct Case {
    Grounds grounds;
    bool taken;
    std::string verdict;
  };
  const std::string not_best = ", but it is not the best";
  const std::string subset = "it does a subset of the original's work and is not surely slower";
  const std::string both = "prediction and measurement together make a gain 97 % sure";
  const std::vector<Case> cases = {
      {Grounds::kNotSure, false, "not taken: a gain of half a percent is not sure"},
      {Grounds::kSurelySlower, false, "not taken: it is surely slower"},
      {Grounds::kMeasured, true, "taken: it was measured to be faster"},
      {Grounds::kMeasured, false, "not taken: it was measured to be faster" + not_best},
      {Grounds::kCpuTime, true, "taken: it takes less CPU time on one thread"},
      {Grounds::kMeasuredLikely, true,
       "taken: it was measured to be faster, likely but not surely"},
      {Grounds::kSubsetOfWork, true, "taken: " + subset},
      {Grounds::kSubsetOfWork, false, "not taken: " + subset + not_best},
      {Grounds::kPredictedAndMeasured, true, "taken: " + both},
      {Grounds::kPredictedAndMeasured, false, "not taken: " + both + not_best},
      {Grounds::kPredicted, true, "taken: it is predicted to be faster"},
      {Grounds::kPredicted, false, "not taken: it is predicted to be faster" + not_best},
  };
  for (const Case& test_case : cases) {
    EXPECT_THAT(LinesOf({{.grounds = test_case.grounds,
                          .predicted_percent = 5,
                          .probability = 0.974,
                          .taken = test_case.taken}}),
                ElementsAre("candidate 1 (predicted 5.0 %) " + test_case.verdict));
  }
}

}  // namespace
}  // namespace quotient::report
