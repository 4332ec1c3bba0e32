#include "core/optimize/finish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/timing/snapshot.h"
#include "tests/core/optimize/stage_fixture.h"

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;

constexpr char kModel[] =
    "g (float[N,64] x) => (float[N,64] y) { a = Relu(x) b = Softmax(a) y = Softmax(b) }";
// One Softmax has other results, which does not matter here.
constexpr char kShorter[] = "g (float[N,64] x) => (float[N,64] y) { a = Relu(x) y = Softmax(a) }";

class FinishTest : public StageTest {
 protected:
  // A decision for kShorter, which took 80 us where the original took 100.
  Decision Taken() {
    Winner winner{.candidate = {.packaged = PackageOf(kShorter)},
                  .measured = {.median_us = 80, .runs = 9},
                  .gain = report::PercentRange{15, 25},
                  .gain_percent = 19};
    winner.candidate.verdict = {
        .passed = true, .max_relative_error = 1e-7, .tolerance = 1e-4, .inputs = 5};
    winner.candidate.packaged.journal = {{.rule = "softmax-twice"}};
    Decision decision{.winner = std::move(winner), .original = {.median_us = 100, .runs = 9}};
    decision.considered = {{.grounds = report::Grounds::kMeasured, .taken = true}};
    return decision;
  }

  Result FinishWith(Decision decision, report::Report report = {}) {
    std::shared_ptr<OriginalChecker> checker;
    std::optional<Delivery> delivery;
    if (decision.winner.has_value()) {
      checker = *NewOriginalChecker(*job_, *original_);
      bindings_ = checker->checker.bindings().size();
      auto delivered = Deliver(original_->prepared, decision.winner->candidate.packaged,
                               SettingsToPackage(*job_, *baseline_));
      EXPECT_OK(delivered.status());
      delivery = *std::move(delivered);
    }
    return Finish(*job_, *baseline_, checker.get(), std::move(decision), std::move(delivery),
                  std::move(report));
  }

  size_t bindings_ = 0;  // How many other bindings the last result was checked at.
};

TEST_F(FinishTest, AWinnerLeavesWithItsFilesAndWhatIsKnownOfIt) {
  ReadAndPredict(kModel);
  Decision decision = Taken();
  const double predicted_us = decision.winner->candidate.packaged.cost.total_us;
  const Result result = FinishWith(std::move(decision));
  EXPECT_EQ(testing::OpsOf(testing::ParseBytes(result.files.model)), "Relu,Softmax");
  const report::Report& report = result.report;
  EXPECT_EQ(report.outcome, report::Outcome::kImproved);
  EXPECT_EQ(report.original.nodes, 3);
  EXPECT_EQ(report.optimized.nodes, 2);
  EXPECT_EQ(report.original.predicted_us, baseline_->cost.total_us);
  EXPECT_EQ(report.optimized.predicted_us, predicted_us);
  EXPECT_NEAR(report.predicted_speedup_percent.value_or(-1),
              100 * (1 - predicted_us / baseline_->cost.total_us), 1e-9);
  EXPECT_EQ(report.original.measured.median_us, 100);
  EXPECT_EQ(report.optimized.measured.median_us, 80);
  EXPECT_EQ(report.speedup_percent, 19) << "by turns, which noise moves less than medians";
  ASSERT_TRUE(report.speedup_interval.has_value());
  EXPECT_EQ(report.speedup_interval->low, 15);
  ASSERT_THAT(report.journal, SizeIs(1));
  EXPECT_EQ(report.journal[0].rule, "softmax-twice");
  EXPECT_THAT(report.considered, SizeIs(1));
  EXPECT_THAT(report.nodes, SizeIs(3));
}

TEST_F(FinishTest, AWinnerLeavesWithHowItWasChecked) {
  ReadAndPredict(kModel);
  const report::Verification verification = FinishWith(Taken()).report.verification;
  EXPECT_TRUE(verification.passed);
  EXPECT_EQ(verification.max_relative_error, 1e-7);
  EXPECT_EQ(verification.tolerance, 1e-4);
  EXPECT_EQ(verification.inputs, 5);
  EXPECT_GT(bindings_, 0u) << "the batch is free";
  EXPECT_THAT(verification.bindings, SizeIs(bindings_));
}

TEST_F(FinishTest, OutputsThatWereNeverFiniteAreNoted) {
  ReadAndPredict(kModel);
  Decision decision = Taken();
  decision.winner->candidate.verdict.never_finite = {"output y", "output z"};
  EXPECT_THAT(FinishWith(std::move(decision)).report.notes,
              ElementsAre(HasSubstr("output y, output z: NaN or infinite throughout")));
}

TEST_F(FinishTest, WithoutAWinnerTheBytesThatCameInLeave) {
  ReadAndPredict(kModel);
  Decision decision{.original = {.median_us = 100, .runs = 9}};
  decision.considered = {{.grounds = report::Grounds::kSurelySlower}};
  const Result result = FinishWith(std::move(decision));
  EXPECT_EQ(result.files.model, bytes_);
  EXPECT_THAT(result.files.external_data, IsEmpty());
  const report::Report& report = result.report;
  EXPECT_EQ(report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(report.optimized.nodes, 3);
  EXPECT_EQ(report.optimized.predicted_us, baseline_->cost.total_us);
  EXPECT_EQ(report.optimized.measured.median_us, 100);
  EXPECT_EQ(report.speedup_percent, 0);
  EXPECT_EQ(report.predicted_speedup_percent, 0);
  EXPECT_FALSE(report.verification.passed);
  EXPECT_GT(report.verification.tolerance, 0);
  EXPECT_THAT(report.considered, SizeIs(1));
  ASSERT_THAT(report.nodes, SizeIs(3));
  EXPECT_EQ(report.nodes[0].before_us, report.nodes[0].after_us);
  EXPECT_THAT(report.notes, IsEmpty());
}

TEST_F(FinishTest, TheReportSaysWhatJobItWasAndKeepsWhatEarlierStagesTold) {
  ReadAndPredict(kModel);
  const Result result =
      FinishWith({}, {.phase_seconds = {{"read", 2}}, .notes = {"an earlier note"}});
  const report::Report& report = result.report;
  EXPECT_EQ(report.model_name, "m.onnx");
  EXPECT_EQ(report.engine_version, EngineVersion());
  EXPECT_EQ(report.device, "model:h200");
  EXPECT_EQ(report.fingerprint, original_->device->costs().fingerprint());
  EXPECT_FALSE(report.measured);
  EXPECT_FALSE(report.recorded.has_value());
  EXPECT_EQ(report.threads, original_->device->costs().partition().threads);
  EXPECT_THAT(report.notes, ElementsAre("an earlier note"));
  EXPECT_THAT(report.phase_seconds, ElementsAre(Key("read"), Key("report")));
}

TEST_F(FinishTest, OfASnapshotTheReportSaysWhatWasRecordedAndWhen) {
  const std::string text = timing::ToText({.device = "cpu",
                                           .fingerprint = "a core",
                                           .recorded_unix_s = 1'000'000'000,
                                           .engine = "1.2"});
  options_.device = SnapshotDevice(text);
  environment_.device_snapshot = text;
  ReadAndPredict(kModel);
  const report::Report report = FinishWith({}).report;
  ASSERT_TRUE(report.recorded.has_value());
  EXPECT_EQ(report.recorded->device, "cpu");
  EXPECT_EQ(report.recorded->time, "2001-09-09T01:46:40Z");
  EXPECT_EQ(report.recorded->engine, "1.2");
}

// Where the original comes back, the caller misses what options should have changed in it.
TEST_F(FinishTest, OptionsThatWereOfNoEffectAreNoted) {
  options_.shapes = {{"x", {2, 64}}};
  ReadAndPredict(kModel);
  original_->prepared.model.frozen_initializers = 1;
  EXPECT_THAT(FinishWith({}).report.notes,
              ElementsAre(HasSubstr("shapes that were asked for are not written"),
                          HasSubstr("its initializers are still inputs")));
  EXPECT_THAT(FinishWith(Taken()).report.notes, IsEmpty());
}

// The kernels that one of the graphs has alone must have been measured where others are.
TEST_F(FinishTest, NoGainIsPredictedFromDifferentEstimates) {
  UseDevice([this](absl::string_view) { return kernels::fake::NewFakeBackend(&clock_); });
  ReadAndPredict(kModel);
  EXPECT_TRUE(FinishWith(Taken()).report.predicted_speedup_percent.has_value());
  Decision decision = Taken();
  decision.winner->candidate.packaged.cost.costs[0].source = cost::CostSource::kModel;
  const report::Report report = FinishWith(std::move(decision)).report;
  EXPECT_FALSE(report.predicted_speedup_percent.has_value());
  EXPECT_EQ(report.speedup_percent, 19);
}

TEST_F(FinishTest, ObjectionsAreThoseToWhatLeaves) {
  ReadAndPredict(kModel);
  using Part = onnx::ObjectionAt::Part;
  original_->prepared.model.objections = {{Part::kNode, "b", "b is odd"},
                                          {Part::kNode, "y", "y is odd"}};
  EXPECT_THAT(FinishWith({}).report.notes,
              ElementsAre(HasSubstr("b is odd"), HasSubstr("y is odd")));
  EXPECT_THAT(FinishWith(Taken()).report.notes, ElementsAre(HasSubstr("y is odd")));
}

// As much as is known of a model that cannot be prepared.
TEST_F(FinishTest, AModelThatCannotBeUsedLeavesUntouched) {
  Read(R"(g (float[N,4] x) => (float[N,4] y) <int64[2] to = {7, 1000003}> {
            r = Reshape(x, to)
            y = Relu(r)
          })");
  ASSERT_TRUE(unusable_.has_value());
  unusable_->model.model.objections = {{onnx::ObjectionAt::Part::kNode, "y", "y is odd"}};
  const Result result = FinishUntouched(*job_, *unusable_->device, unusable_->model.model,
                                        {.groups = {}, .costs = {}, .total_us = 12},
                                        {.passed_through = "SHAPE_MISSING", .notes = {"why"}});
  EXPECT_EQ(result.files.model, bytes_);
  const report::Report& report = result.report;
  EXPECT_EQ(report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(report.passed_through, "SHAPE_MISSING");
  EXPECT_EQ(report.model_name, "m.onnx");
  EXPECT_EQ(report.original.nodes, 2);
  EXPECT_EQ(report.original.predicted_us, 12);
  EXPECT_THAT(report.notes, ElementsAre("why", HasSubstr("y is odd")));
  EXPECT_THAT(report.phase_seconds, Contains(Key("report")));
}

}  // namespace
}  // namespace quotient::optimize
