#include "core/optimize/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/onnx/reader.h"
#include "core/search/strategy.h"
#include "tests/core/optimize/optimize_fixture.h"
#include "tests/support/fake_backend.h"
#include "tests/support/fake_device_kind.h"
#include "tests/support/networks/networks.h"

namespace quotient::optimize {
namespace {

using ::quotient::testing::FakeDeviceKind;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(OptimizeTest, MergesBranchesByTheModelAlone) {
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  const report::Report& report = result->report;
  EXPECT_EQ(report.outcome, report::Outcome::kImproved);
  EXPECT_FALSE(report.measured);
  EXPECT_TRUE(report.verification.passed);
  ASSERT_FALSE(report.verification.bindings.empty());
  EXPECT_EQ(report.verification.bindings[0].shapes.at("input")[0], 4);
  EXPECT_GE(report.verification.inputs, options_.verify_inputs);
  EXPECT_LT(report.optimized.nodes, report.original.nodes);
  EXPECT_LT(report.optimized.predicted_us, report.original.predicted_us);
  EXPECT_EQ(report.optimized.measured.runs, 0);
  EXPECT_TRUE(report.phase_seconds.contains("verify"));
  EXPECT_TRUE(report.phase_seconds.contains("report"));
  EXPECT_FALSE(report.phase_seconds.contains("measure"));
  EXPECT_FALSE(report.journal.empty());
  EXPECT_THAT(report.notes, Contains(HasSubstr("'N'")));
  const auto written = onnx::Read(result->files.model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->op_counts.at("Conv"), 1);
  EXPECT_EQ(model::ToString(written->graph.value(written->graph.inputs[0]).type),
            "float32[N,8,24,24]");
}

// Returns the sum of everything that the report says was saved.
double SumOf(const report::Gains& gains) {
  double us = gains.others_us;
  for (const report::RuleGain& gain : gains.by_rules) us += gain.saved_us();
  return us;
}

TEST_F(OptimizeTest, WhatGainedAddsUpToTheWhole) {
  for (const std::string& model : {Branches(), Normalized()}) {
    for (const char* const device : {"model:h200", "cpu"}) {
      SCOPED_TRACE(device);
      options_.device = device;
      const auto result = Run(model);
      ASSERT_TRUE(result.ok()) << result.status();
      const report::Report& report = result->report;
      const double saved = report.original.predicted_us - report.optimized.predicted_us;
      EXPECT_NEAR(SumOf(report.gains), saved, 1e-9 * report.original.predicted_us);
      if (report.outcome == report::Outcome::kNoImprovement) {
        EXPECT_TRUE(report.gains.by_rules.empty());
      }
    }
  }
}

TEST_F(OptimizeTest, BranchesThatBecomeOneAreOneGain) {
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  const report::Gains& gains = result->report.gains;
  ASSERT_FALSE(gains.by_rules.empty());
  EXPECT_THAT(gains.by_rules[0].rules, Contains("conv-merge"));
  ASSERT_EQ(gains.by_rules[0].regions.size(), 1u);
  EXPECT_EQ(gains.by_rules[0].regions[0].before[0].count, 4);
  EXPECT_EQ(gains.by_rules[0].regions[0].after[0].count, 1);
  EXPECT_GT(gains.by_rules[0].saved_us(), 0);
}

TEST_F(OptimizeTest, WhateverTheStrategy) {
  for (const std::string& strategy : search::StrategyNames()) {
    SCOPED_TRACE(strategy);
    options_.strategy = strategy;
    options_.max_nodes = 200;
    const auto result = Run(Branches());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
    EXPECT_EQ(result->report.search.strategy, strategy);
  }
}

TEST_F(OptimizeTest, SameInputSameBytes) {
  const std::string model = Branches();
  const auto first = Run(model), second = Run(model);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->files.model, second->files.model);
}

TEST_F(OptimizeTest, ADeviceThatIsLostIsAnErrorAndNotAnAnswer) {
  kernels::fake::FakeClock clock;
  std::atomic<int> runs = 0;
  const auto lost = [&] { return runs > 100; };
  const kernels::fake::FakeOptions fake{
      .run_us = [&](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
        ++runs;
        if (lost()) return absl::InternalError("no answer");
        return kernels::fake::FakeCostUs(spec);
      },
      .health = [&] { return lost() ? MakeError(Reason::kDeviceLost, "gone") : absl::OkStatus(); }};
  const std::vector<DeviceKind> kinds = {
      FakeDeviceKind({"cpu"}, [&](absl::string_view) { return NewFakeBackend(&clock, fake); })};
  Devices devices({.store = store_.get(), .lane = &lane_}, kinds);
  environment_.devices = &devices;
  options_.device = "cpu";
  const auto result = Run(Normalized());
  EXPECT_EQ(GetReason(result.status()), Reason::kDeviceLost) << result.status();
}

// Two views in a row become one. Views cost nothing in our kernels, but a runtime that runs files
// may think otherwise.
TEST_F(OptimizeTest, EqualKernelsAreDroppedOnlyWhereKernelsAreWhatRuns) {
  networks::NetworkBuilder builder("views", 1);
  std::string x = builder.Softmax(builder.Input("x", {"8", "24"}), -1);
  x = builder.Reshape(builder.Reshape(x, {4, 48}), {2, 96});
  builder.Output(builder.Softmax(x, -1), {"2", "96"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  for (const bool runs_files : {false, true}) {
    kernels::fake::FakeClock clock;
    const std::vector<DeviceKind> kinds = {FakeDeviceKind({"cpu"}, [&](absl::string_view) {
      return NewFakeBackend(&clock, {.runs_files = runs_files});
    })};
    Devices devices({.store = store_.get(), .lane = &lane_}, kinds);
    environment_.devices = &devices;
    options_.device = "cpu";
    options_.budget_seconds = 5;
    const auto result = Run(model);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->report.ran()) << absl::StrJoin(result->report.notes, "; ");
    EXPECT_EQ(result->report.considered.empty(), !runs_files) << ToTable(result->report);
  }
}

// Convolutions side by side can be one, and so can two products in a row.
std::string BranchesAndProducts() {
  networks::NetworkBuilder builder("branches and products", 4);
  const std::string x = builder.Input("input", {"1", "8", "24", "24"});
  std::vector<std::string> branches;
  for (int i = 0; i < 4; ++i) {
    branches.push_back(builder.Relu(builder.Conv(x, 8, 8, 3, {.pad = 1})));
  }
  std::string y = builder.Flatten(builder.GlobalAveragePool(builder.Concat(branches, 1)));
  y = builder.MatMul(y, builder.Weight("p", {32, 512}, 32, 1));
  y = builder.MatMul(y, builder.Weight("q", {512, 4}, 512, 1));
  builder.Output(y, {"1", "4"});
  return std::move(builder).Build().SerializeAsString();
}

int64_t CountOf(const model::Graph& graph, absl::string_view op) {
  return std::ranges::count(graph.nodes, op, &model::Node::op);
}

// The device is slow at graphs with a single convolution, which its kernels do not show.
TEST_F(OptimizeTest, OneBadMergeDoesNotCostTheOtherGains) {
  kernels::fake::FakeClock clock;
  const kernels::fake::FakeOptions fake{.overhead_us = [](const model::Graph& graph) {
    return CountOf(graph, "Conv") == 1 ? 1e4 : 0;
  }};
  const std::vector<DeviceKind> kinds = {
      FakeDeviceKind({"cpu"}, [&](absl::string_view) { return NewFakeBackend(&clock, fake); })};
  Devices devices({.store = store_.get(), .lane = &lane_}, kinds);
  environment_.devices = &devices;
  options_.device = "cpu";
  const auto result = Run(BranchesAndProducts());
  ASSERT_TRUE(result.ok()) << result.status();
  const report::Report& report = result->report;
  ASSERT_EQ(report.outcome, report::Outcome::kImproved) << ToTable(report);
  const auto written = onnx::Read(result->files.model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(CountOf(written->graph, "Conv"), 4) << ToTable(report);
  EXPECT_LT(CountOf(written->graph, "MatMul") + CountOf(written->graph, "Gemm"), 2);
  EXPECT_EQ(report.considered.front().grounds, report::Grounds::kSurelySlower);
  const auto taken = std::ranges::find_if(report.considered, &report::Considered::taken);
  ASSERT_NE(taken, report.considered.end());
  EXPECT_FALSE(taken->left_out.empty());
}

TEST_F(OptimizeTest, NothingToGainGivesTheInputBack) {
  networks::NetworkBuilder builder("relu", 1);
  builder.Output(builder.Relu(builder.Input("x", {"4"})), {"4"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  const auto result = Run(model);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kNoImprovement);
  EXPECT_EQ(result->files.model, model);
  EXPECT_EQ(result->report.speedup_percent, 0);
  EXPECT_EQ(result->report.verification.inputs, 0);
  EXPECT_FALSE(result->report.verification.passed) << "nothing was compared";
}

// No rule makes anything new here, yet a kernel less runs.
TEST_F(OptimizeTest, ANodeThatVanishesIsAnImprovement) {
  networks::NetworkBuilder builder("joined alone", 1);
  const std::string x = builder.Relu(builder.Input("x", {"1", "8", "24", "24"}));
  builder.Output(builder.GlobalAveragePool(builder.Concat({x}, 1)), {"1", "8", "1", "1"});
  const auto result = Run(std::move(builder).Build().SerializeAsString());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_EQ(result->report.optimized.nodes, 2);
  ASSERT_EQ(result->report.journal.size(), 1);
  EXPECT_EQ(result->report.journal[0].rule, "concat-single");
}

TEST_F(OptimizeTest, ADisabledRuleIsNotUsed) {
  const std::string model = Branches();
  const auto before = Run(model);
  ASSERT_TRUE(before.ok()) << before.status();
  for (const report::JournalEntry& entry : before->report.journal) {
    options_.disabled_rules.push_back(entry.rule);
  }
  const auto after = Run(model);
  ASSERT_TRUE(after.ok()) << after.status();
  for (const report::JournalEntry& entry : after->report.journal) {
    EXPECT_THAT(options_.disabled_rules, ::testing::Not(Contains(entry.rule)));
  }
  options_.disabled_rules = {"no-such-rule"};
  EXPECT_EQ(GetReason(Run(model).status()), Reason::kOptionInvalid);
}

TEST_F(OptimizeTest, DimsThatAreBoundForGoodAreNotBoundOtherwise) {
  options_.shapes["input"] = {3, 8, 24, 24};
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_TRUE(result->report.verification.bindings.empty());
  EXPECT_THAT(result->report.verification.bindings_note, HasSubstr("is a number in the model"));
}

TEST_F(OptimizeTest, AMaxOpsetBelowTheModelsOwnIsNoted) {
  const std::string model = Branches();
  const auto original = onnx::Read(model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(original.ok()) << original.status();
  const std::string note = absl::StrCat("the model itself needs opset ", original->opset);
  options_.max_opset = original->opset - 1;
  const auto below = Run(model);
  ASSERT_TRUE(below.ok()) << below.status();
  EXPECT_THAT(below->report.notes, Contains(HasSubstr(note)));
  const auto written = onnx::Read(below->files.model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->opset, original->opset);
  options_.max_opset = original->opset;
  const auto equal = Run(model);
  ASSERT_TRUE(equal.ok()) << equal.status();
  EXPECT_THAT(equal->report.notes, ::testing::Not(Contains(HasSubstr(note))));
}

TEST_F(OptimizeTest, FloatInputsAreFiniteOnlyIfTheUserSaysSo) {
  const std::string model = GuardedSoftmax();
  for (const bool assume : {false, true}) {
    options_.assume_finite_inputs = assume;
    const auto result = Run(model);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto written = onnx::Read(result->files.model, {}, onnx::Limits(), nullptr);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(written->op_counts.contains("IsNaN"), !assume);
    const auto told = Contains(HasSubstr("float inputs were taken to hold no NaN"));
    if (assume) {
      EXPECT_THAT(result->report.notes, told);
    } else {
      EXPECT_THAT(result->report.notes, ::testing::Not(told));
    }
  }
}

TEST_F(OptimizeTest, ShapesBoundForGoodAreInTheResult) {
  options_.shapes["input"] = {2, 8, 24, 24};
  const auto result = Run(Branches());
  ASSERT_TRUE(result.ok()) << result.status();
  const auto written = onnx::Read(result->files.model, {}, onnx::Limits(), nullptr);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(model::ToString(written->graph.value(written->graph.inputs[0]).type),
            "float32[2,8,24,24]");
}

TEST_F(OptimizeTest, MeasuresEndToEndOnTheCpu) {
  options_.device = "cpu";
  options_.budget_seconds = 20;
  const auto result = Run(Normalized());
  ASSERT_TRUE(result.ok()) << result.status();
  const report::Report& report = result->report;
  EXPECT_TRUE(report.measured);
  EXPECT_TRUE(report.phase_seconds.contains("measure"));
  EXPECT_GT(report.original.measured.runs, 0);
  EXPECT_GT(report.original.measured.median_us, 0);
  EXPECT_LE(report.original.measured.p10_us, report.original.measured.p90_us);
  EXPECT_LT(report.original.measured.error_norm.value_or(1), 1e-5);
  EXPECT_GT(report.search.kernels_measured, 0);
  for (const report::Considered& candidate : report.considered) {
    if (!candidate.taken || candidate.grounds != report::Grounds::kMeasured) continue;
    EXPECT_LT(report.optimized.measured.median_us, report.original.measured.median_us);
  }
}

// Memory runs out where the sink is told of a phase for the second time: inside of it.
class FullSink : public ProgressSink {
 public:
  explicit FullSink(std::string phase) : phase_(std::move(phase)) {}
  void Report(const Progress& progress) override {
    if (progress.phase == phase_ && ++told_ == 2) throw std::bad_alloc();
  }

 private:
  const std::string phase_;
  int told_ = 0;
};

TEST_F(OptimizeTest, MemoryThatRunsOutCostsTheCandidatesOnly) {
  FullSink sink("search");
  const std::string model = Branches();
  const ModelFiles files{.name = "m", .model = model};
  const auto result = Optimize(files, options_, environment_, StopCondition(&token_), &sink);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->files.model, model);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("memory ran out in the phase search")));
}

// A price of zero is a price: the stage before the search has run.
TEST_F(OptimizeTest, MemoryThatRunsOutForAModelThatCostsNothingIsTheSame) {
  FullSink sink("search");
  networks::NetworkBuilder builder("free", 1);
  builder.Output(builder.Flatten(builder.Input("x", {"2", "3", "4"})), {"2", "12"});
  const std::string model = std::move(builder).Build().SerializeAsString();
  const ModelFiles files{.name = "m", .model = model};
  const auto result = Optimize(files, options_, environment_, StopCondition(&token_), &sink);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.original.predicted_us, 0);
  EXPECT_EQ(result->report.passed_through, "");
  EXPECT_EQ(result->files.model, model);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("memory ran out in the phase search")));
}

// Time stands still.
class StoppedClock : public Clock {
 public:
  int64_t NowNs() const override { return 1'000'000'000; }
  int64_t UnixMs() const override { return 0; }
};

TEST_F(OptimizeTest, AllPhasesAreTimedByTheClockThatIsHandedIn) {
  const StoppedClock clock;
  const Environment environment{.devices = &devices_, .clock = clock};
  const std::string model = Branches();
  const ModelFiles files{.name = "m", .model = model};
  options_.max_simulations = 20;
  const auto result = Optimize(files, options_, environment, StopCondition(&token_), nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.search.seconds, 0);
  EXPECT_EQ(result->report.search.grow_seconds, 0);
  EXPECT_EQ(result->report.phase_seconds.size(), 7);
  for (const auto& [phase, seconds] : result->report.phase_seconds) EXPECT_EQ(seconds, 0) << phase;
}

TEST_F(OptimizeTest, CancelledBeforeItBegan) {
  token_.Cancel();
  EXPECT_EQ(GetReason(Run(Normalized()).status()), Reason::kCancelled);
}

TEST_F(OptimizeTest, BadModelsAndOptionsHaveReasons) {
  EXPECT_EQ(GetReason(Run("not a model").status()), Reason::kModelMalformed);
  const std::string model = Normalized();
  EXPECT_FALSE(Run(model.substr(0, model.size() / 2)).ok());
  options_.device = "abacus";
  EXPECT_EQ(GetReason(Run(model).status()), Reason::kOptionInvalid);
}

// Before the model is even read.
TEST_F(OptimizeTest, ADeviceThatIsNotThereIsFoundFirst) {
  options_.device = "cuda:99";
  EXPECT_EQ(GetReason(Run("not a model").status()), Reason::kDeviceNotPresent);
}

}  // namespace
}  // namespace quotient::optimize
