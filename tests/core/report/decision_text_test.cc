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
  Report report;
  report.considered = std::move(considered);
  return DecisionLines(report);
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
  EXPECT_THAT(DecisionLines(report).front(),
              testing::HasSubstr("by CPU time of one thread 1.5 to 2.5 %, expected 2.0 %)"));
  EXPECT_THAT(IntervalText(report), testing::HasSubstr("CPU time"));
  report.considered[0].taken = false;
  EXPECT_THAT(IntervalText(report), testing::HasSubstr("quartiles"));
}

std::string GroundsOf(Outcome outcome, Grounds grounds) {
  Report report;
  report.outcome = outcome;
  report.considered = {{.grounds = Grounds::kPredictedAndMeasured},
                       {.grounds = grounds, .taken = outcome == Outcome::kImproved}};
  return GroundsText(report);
}

TEST(DecisionTextTest, HeadingsSayOnWhatAnImprovementRests) {
  EXPECT_EQ(GroundsOf(Outcome::kImproved, Grounds::kMeasured), "");
  EXPECT_EQ(GroundsOf(Outcome::kImproved, Grounds::kSubsetOfWork),
            "it does only a part of the work; the measurement alone does not tell");
  EXPECT_EQ(GroundsOf(Outcome::kImproved, Grounds::kPredictedAndMeasured),
            "by prediction and measurement together; the measurement alone does not tell");
  EXPECT_EQ(GroundsOf(Outcome::kImproved, Grounds::kPredicted), "by prediction; nothing was run");
  EXPECT_EQ(GroundsOf(Outcome::kNoImprovement, Grounds::kPredicted), "");
  // Reports of older servers lack the candidates.
  EXPECT_EQ(GroundsText({.outcome = Outcome::kImproved}), "");
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
