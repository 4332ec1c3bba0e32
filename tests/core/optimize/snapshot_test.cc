// Optimizing for a device that is not here, by a snapshot of it.

#include "core/timing/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/optimize/prepared.h"
#include "tests/support/networks/network_builder.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::quotient::testing::HasReason;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Convolutions side by side with normalization behind them: there is something to fold, and a
// choice of what to merge.
std::string Branches() {
  networks::NetworkBuilder builder("branches", 4);
  const std::string x = builder.Input("input", {"1", "8", "12", "12"});
  std::vector<std::string> branches;
  for (int i = 0; i < 3; ++i) {
    branches.push_back(builder.Relu(builder.BatchNorm(builder.Conv(x, 8, 8, 3, {.pad = 1}), 8)));
  }
  const std::string y = builder.GlobalAveragePool(builder.Concat(branches, 1));
  builder.Output(builder.Flatten(y), {"1", "24"});
  return std::move(builder).Build().SerializeAsString();
}

timing::Snapshot Empty() {
  timing::Snapshot snapshot;
  snapshot.device = "cpu";
  snapshot.fingerprint = "a core";
  snapshot.engine = "1";
  return snapshot;
}

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    options_.threads = 1;
    options_.budget_seconds = 60;
  }

  // As a process of its own would.
  absl::StatusOr<Result> Run(timing::TimingStore* store, absl::string_view snapshot) {
    timing::Lane lane;
    Devices devices({.store = store, .lane = &lane});
    const ModelFiles files{.name = "branches.onnx", .model = model_};
    const Environment environment = {
        .devices = &devices, .clock = Clock::System(), .device_snapshot = snapshot};
    return Optimize(files, options_, environment, {}, nullptr);
  }

  absl::StatusOr<Result> RunWith(const timing::Snapshot& snapshot) {
    const std::string text = ToText(snapshot);
    options_.device = SnapshotDevice(text);
    return Run(timing::NewMemoryStore().get(), text);
  }

  // Whatever the number of workers. Returns a report.
  report::Report ExpectSameBytesEachTime(const timing::Snapshot& snapshot) {
    std::vector<std::string> models;
    report::Report report;
    for (const int workers : {1, 1, 2}) {
      options_.budget_seconds = 60;
      options_.threads = workers;
      absl::StatusOr<Result> result = RunWith(snapshot);
      EXPECT_OK(result);
      if (!result.ok()) return report;
      models.push_back(result->files.model);
      report = result->report;
      EXPECT_FALSE(report.measured);
      EXPECT_FALSE(report.ran());
      EXPECT_EQ(report.threads, 1);
      EXPECT_TRUE(report.verification.passed);
    }
    EXPECT_EQ(models[0], models[1]);
    EXPECT_EQ(models[0], models[2]);
    return report;
  }

  const std::string model_ = Branches();
  Options options_;
};

TEST_F(SnapshotTest, WhatWasRecordedHereGivesTheSameBytesEachTime) {
  const auto store = timing::NewMemoryStore();
  options_.device = "cpu";
  options_.budget_seconds = 5;
  ASSERT_OK_AND_ASSIGN(const Result live, Run(store.get(), ""));
  EXPECT_GT(live.report.original.kernels.measured, 0);
  EXPECT_EQ(live.report.original.kernels.estimated, 0);
  timing::Lane lane;
  Devices devices({.store = store.get(), .lane = &lane});
  ASSERT_OK_AND_ASSIGN(const timing::Snapshot snapshot, devices.Record("cpu", 1, 1'000'000'000));

  const report::Report report = ExpectSameBytesEachTime(snapshot);
  EXPECT_EQ(report.fingerprint, live.report.fingerprint);
  ASSERT_TRUE(report.recorded.has_value());
  EXPECT_EQ(report.recorded->device, "cpu");
  EXPECT_EQ(report.recorded->time, "2001-09-09T01:46:40Z");
  EXPECT_EQ(report.recorded->engine, EngineVersion());
  EXPECT_EQ(report.original.kernels.measured, live.report.original.kernels.measured);
  EXPECT_EQ(report.original.kernels.estimated, 0);
  EXPECT_THAT(report.notes, Not(Contains(HasSubstr("the snapshot has "))));
  // What gained is what was measured.
  if (live.report.outcome == report::Outcome::kImproved) {
    EXPECT_EQ(report.optimized.kernels.estimated, 0);
    EXPECT_THAT(report.notes, Not(Contains(HasSubstr("rests on estimates"))));
  }
}

TEST_F(SnapshotTest, WhatIsNotInTheSnapshotIsEstimated) {
  const report::Report report = ExpectSameBytesEachTime(Empty());
  EXPECT_EQ(report.outcome, report::Outcome::kImproved);
  EXPECT_EQ(report.original.kernels.measured, 0);
  EXPECT_GT(report.original.kernels.estimated, 0);
  EXPECT_EQ(report.optimized.kernels.measured, 0);
  EXPECT_GT(report.original.predicted_us, 0);
  for (const report::NodeCost& node : report.nodes) {
    EXPECT_NE(node.before_source, "measured") << node.name;
    EXPECT_NE(node.after_source, "measured") << node.name;
  }
  EXPECT_THAT(report.notes, Contains(HasSubstr("the predicted gain rests on estimates")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("the snapshot has none of the ")));
}

// Two snapshots that differ in the times of some kernels give two results.
TEST_F(SnapshotTest, TheRecordedTimesDecide) {
  ASSERT_OK_AND_ASSIGN(const Result cheap, RunWith(Empty()));
  ASSERT_EQ(cheap.report.outcome, report::Outcome::kImproved);
  constexpr double kSlowUs = 1e6;
  timing::Snapshot slow = Empty();
  Devices devices({});
  const std::string text = ToText(slow);
  ASSERT_OK_AND_ASSIGN(const auto device, devices.Get(SnapshotDevice(text), 1, text));
  const ModelFiles files{.name = "m", .model = cheap.files.model};
  ASSERT_OK_AND_ASSIGN(const Prepared prepared, Prepare(files, {}, 1, {}));
  ASSERT_OK_AND_ASSIGN(const cost::GraphCost cost,
                       PredictGraph(prepared.cut.graph, device->costs(), {}));
  for (const kernels::KernelGroup& group : cost.groups) {
    if (group.spec.op != "Conv") continue;
    slow.timings[KernelKey(group.spec)] =
        timing::Rounded({timing::TimingState::kOk, kSlowUs, kSlowUs, kSlowUs, 0, 9});
  }
  ASSERT_FALSE(slow.timings.empty());
  ASSERT_OK_AND_ASSIGN(const Result result, RunWith(slow));
  EXPECT_NE(result.files.model, cheap.files.model);
  EXPECT_LT(result.report.optimized.predicted_us, kSlowUs);
}

TEST_F(SnapshotTest, WhatTheDeviceCannotRunIsNotChosen) {
  ASSERT_OK_AND_ASSIGN(const Result chosen, RunWith(Empty()));
  ASSERT_EQ(chosen.report.outcome, report::Outcome::kImproved);
  timing::Snapshot without = Empty();
  Devices devices({});
  const std::string text = ToText(without);
  ASSERT_OK_AND_ASSIGN(const auto device, devices.Get(SnapshotDevice(text), 1, text));
  const ModelFiles files{.name = "m", .model = chosen.files.model};
  ASSERT_OK_AND_ASSIGN(const Prepared prepared, Prepare(files, {}, 1, {}));
  ASSERT_OK_AND_ASSIGN(const cost::GraphCost cost,
                       PredictGraph(prepared.cut.graph, device->costs(), {}));
  for (const kernels::KernelGroup& group : cost.groups) {
    if (group.spec.op == "Conv") {
      without.timings[KernelKey(group.spec)] = {timing::TimingState::kUnsupported};
    }
  }
  ASSERT_OK_AND_ASSIGN(const Result result, RunWith(without));
  EXPECT_NE(result.files.model, chosen.files.model);
}

// No GPU is needed, and none is looked for.
TEST_F(SnapshotTest, OfAGpuThatIsNotHere) {
  timing::Snapshot snapshot = Empty();
  snapshot.device = "cuda-strict32";
  snapshot.partition.storage = kernels::Storage::kNative;
  const report::Report report = ExpectSameBytesEachTime(snapshot);
  EXPECT_EQ(report.outcome, report::Outcome::kImproved);
  ASSERT_TRUE(report.recorded.has_value());
  EXPECT_EQ(report.recorded->device, "cuda-strict32");
}

TEST_F(SnapshotTest, ASnapshotThatIsNotThereIsNamed) {
  options_.device = SnapshotDevice(ToText(Empty()));
  EXPECT_THAT(Run(timing::NewMemoryStore().get(), ""),
              HasReason(Reason::kOptionInvalid, HasSubstr(SnapshotOf(options_.device)->Text())));
}

}  // namespace
}  // namespace quotient::optimize
