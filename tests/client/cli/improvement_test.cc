#include "client/cli/improvement.h"

#include <gtest/gtest.h>

#include "client/cli/build_failure.h"
#include "tests/support/status_matchers.h"

namespace quotient::cli {
namespace {

report::Report Predicted(double percent) {
  report::Report report;
  report.outcome = report::Outcome::kImproved;
  report.model_name = "m.onnx";
  report.predicted_speedup_percent = percent;
  return report;
}

report::Report MeasuredToo(double percent, double predicted) {
  report::Report report = Predicted(predicted);
  report.original.measured.runs = report.optimized.measured.runs = 10;
  report.speedup_percent = percent;
  return report;
}

TEST(ImprovementTest, WhatWasMeasuredCountsAndElseWhatWasPredicted) {
  EXPECT_EQ(GainPercent(Predicted(7)), 7);
  EXPECT_EQ(GainPercent(MeasuredToo(3, 7)), 3);
  report::Report same = MeasuredToo(3, 7);
  same.outcome = report::Outcome::kNoImprovement;
  EXPECT_EQ(GainPercent(same), 0);
  EXPECT_EQ(GainPercent(report::Report{.outcome = report::Outcome::kImproved}), 0);
}

TEST(ImprovementTest, TheGateSaysWhatIsMissing) {
  EXPECT_OK(CheckImprovement(Predicted(7), 7));
  EXPECT_OK(CheckImprovement(Predicted(0), 0));
  const absl::Status small = CheckImprovement(MeasuredToo(3.14, 7), 5.5);
  EXPECT_EQ(GetBuildFailure(small), BuildFailure::kImprovementTooSmall);
  EXPECT_EQ(small.message(),
            "m.onnx gains 3.1 % measured, and 5.5 % are required (--require-improvement)");
  EXPECT_EQ(CheckImprovement(Predicted(1), 2).message(),
            "m.onnx gains 1.0 % predicted, and 2 % are required (--require-improvement)");
  report::Report same;
  same.model_name = "m.onnx";
  EXPECT_EQ(CheckImprovement(same, 0.5).message(),
            "m.onnx is not improved, and 0.5 % are required (--require-improvement)");
}

}  // namespace
}  // namespace quotient::cli
