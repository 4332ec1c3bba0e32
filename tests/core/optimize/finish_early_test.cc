// Jobs that are told to finish before their budget is used up: what there is by then is a result.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/progress.h"
#include "core/onnx/reader.h"
#include "core/search/strategy.h"
#include "tests/core/optimize/optimize_fixture.h"

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using FinishEarlyTest = OptimizeTest;

// A sink that tells the job to finish when its search is under way.
struct Finisher : ProgressSink {
  explicit Finisher(CancelToken* told) : token(*told) {}
  void Report(const Progress& progress) override {
    if (progress.phase == "search" && progress.enodes > 0) token.Finish(Clock::System());
  }
  CancelToken& token;
};

// Where graphs are run, what was found by then is run against the original.
TEST_F(FinishEarlyTest, WhatAJobHasWhenItIsToldToFinishIsRaced) {
  options_.device = "cpu";
  options_.budget_seconds = 600;
  Finisher finisher(&token_);
  const std::string model = Normalized();
  ModelFiles files;
  files.model = model;
  const auto result =
      OptimizeByRules(families_, files, options_, environment_, StopCondition(&token_), &finisher);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->finished_early);
  EXPECT_FALSE(result->report.considered.empty());
  EXPECT_TRUE(result->report.phase_seconds.contains("measure"));
}

// Each strategy, on devices that are measured and that are not: what there is by then is a result.
TEST_F(FinishEarlyTest, AJobThatIsToldToFinishHasAResult) {
  token_.Finish(Clock::System());
  for (const char* const device : {"model:h200", "cpu"}) {
    for (const std::string& strategy : search::StrategyNames()) {
      SCOPED_TRACE(absl::StrCat(device, " ", strategy));
      options_.device = device;
      options_.strategy = strategy;
      const auto result = Run(Branches());
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(result->finished_early);
      EXPECT_THAT(result->report.notes, Contains(HasSubstr("told to finish")));
      EXPECT_EQ(result->report.search.stop_reason, "stopped");
      EXPECT_TRUE(onnx::Read(result->files.model, {}, onnx::Limits(), nullptr).ok());
    }
  }
}

}  // namespace
}  // namespace quotient::optimize
