#include "core/optimize/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/timing/snapshot.h"
#include "tests/core/optimize/stage_fixture.h"

namespace quotient::optimize {
namespace {

using ::quotient::testing::HasReason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kRelu[] = "g (float[N,64] x) => (float[N,64] y) { y = Relu(x) }";

class BaselineTest : public StageTest {
 protected:
  // Lets the job use the device that this was recorded of.
  void UseSnapshot(const timing::Snapshot& snapshot) {
    snapshot_ = ToText(snapshot);
    options_.device = SnapshotDevice(snapshot_);
    environment_.device_snapshot = snapshot_;
  }

  // Lets the job use a device with so many threads where it is opened first, and with one after
  // that. `fails` says whether it can only be opened once.
  void UseThreads(int threads, bool fails = false) {
    UseDevice([this, threads,
               fails](absl::string_view) -> absl::StatusOr<std::unique_ptr<kernels::Backend>> {
      if (fails && opened_ > 0) return MakeError(Reason::kDeviceNotPresent, "there is none");
      return kernels::fake::NewFakeBackend(&clock_, {.threads = opened_++ == 0 ? threads : 1});
    });
    options_.threads = threads;
  }
  // Other work has the cores that several threads would need.
  void KeepCoresBusy() {
    environment_.has_free_cores = [this](int threads) {
      asked_ = threads;
      return false;
    };
  }

  // Reads the original. Returns whether its device is then opened for one thread instead.
  bool ReadsOnOneThread() {
    Read(kRelu);
    return original_.has_value() && MoveToOneThread(*job_, &*original_);
  }

  std::string snapshot_;
  int opened_ = 0;  // How often the device of UseThreads was opened.
  int asked_ = 0;   // For how many threads cores were looked for.
};

TEST_F(BaselineTest, WithoutADeviceTheModelIsNotLookedAt) {
  UseDevice([](absl::string_view) -> absl::StatusOr<std::unique_ptr<kernels::Backend>> {
    return MakeError(Reason::kDeviceNotPresent, "there is none");
  });
  SetFile("no model");
  EXPECT_THAT(ReadOriginal(*job_), HasReason(Reason::kDeviceNotPresent));
}

TEST_F(BaselineTest, WhatIsWrongWithTheModelIsAValueBesideTheDevice) {
  SetFile("no model");
  ReadFile();
  ASSERT_TRUE(unusable_.has_value());
  EXPECT_THAT(unusable_->model.why, HasReason(Reason::kModelMalformed));
  EXPECT_NE(unusable_->device, nullptr);
  EXPECT_THAT(unusable_->model.model.graph.nodes, IsEmpty());
  EXPECT_THAT(unusable_->model.stale_declarations, IsEmpty());
}

TEST_F(BaselineTest, AModelThatWasReadStaysInAnOriginalThatCannotBeUsed) {
  Read("g (float[N,4] x) => (float[N,4] y) <int64[2] to = {7, 1000003}> { y = Reshape(x, to) }");
  ASSERT_TRUE(unusable_.has_value());
  EXPECT_THAT(unusable_->model.why, HasReason(Reason::kShapeMissing));
  EXPECT_THAT(unusable_->model.model.graph.nodes, SizeIs(1));
}

// A terabyte.
TEST_F(BaselineTest, AModelThatDoesNotFitIntoMemoryIsNotUsable) {
  Read(R"(g (float[1] x) => (float[M] y) <int64[1] to = {274877906944}> {
            a = Expand(x, to)
            y = Relu(a)
          })");
  ASSERT_TRUE(unusable_.has_value());
  EXPECT_THAT(unusable_->model.why, HasReason(Reason::kModelUnsupported));
  EXPECT_THAT(unusable_->model.model.graph.nodes, SizeIs(2));
}

TEST_F(BaselineTest, AUsableOriginalIsPreparedForAllAlternatives) {
  Read(kRelu);
  ASSERT_TRUE(original_.has_value());
  EXPECT_EQ(original_->alternatives, kMostAlternatives);
  EXPECT_THAT(original_->prepared.cut.graph.nodes, SizeIs(1));
  EXPECT_EQ(original_->prepared.shapes.shapes.at("x"), (std::vector<int64_t>{1, 64}));
  EXPECT_FALSE(original_->device->runs_files());
}

TEST_F(BaselineTest, TheDeviceSaysWhetherFilesAreRun) {
  for (const bool runs_files : {false, true}) {
    UseDevice([&](absl::string_view) {
      return kernels::fake::NewFakeBackend(&clock_, {.runs_files = runs_files});
    });
    Read(kRelu);
    ASSERT_TRUE(original_.has_value());
    EXPECT_EQ(original_->device->runs_files(), runs_files);
  }
}

TEST_F(BaselineTest, TheCostIsThatOfTheGraphByTheDevice) {
  ReadAndPredict(kRelu);
  ASSERT_OK_AND_ASSIGN(const cost::GraphCost predicted,
                       cost::PredictGraph(original_->prepared.cut.graph, original_->device->costs(),
                                          StopCondition()));
  EXPECT_GT(baseline_->cost.total_us, 0);
  EXPECT_EQ(baseline_->cost.total_us, predicted.total_us);
  EXPECT_EQ(&baseline_->costs(), &original_->device->costs());
  EXPECT_FALSE(baseline_->file_costs.has_value());
  EXPECT_THAT(baseline_->notes, IsEmpty());
}

// The simulated device runs files, but does not know what kernels it makes of them.
TEST_F(BaselineTest, WhereTheKernelsOfAFileCannotBeToldThoseOfTheGraphCount) {
  UseDevice([&](absl::string_view) {
    return kernels::fake::NewFakeBackend(&clock_, {.runs_files = true});
  });
  ReadAndPredict(kRelu);
  EXPECT_FALSE(baseline_->file_costs.has_value());
  ASSERT_THAT(baseline_->cost.groups, SizeIs(1));
  EXPECT_EQ(baseline_->cost.groups[0].spec.op, "Relu");
}

TEST_F(BaselineTest, WhereTheKernelsOfAFileAreKnownTheyAreTheCost) {
  options_.device = "onnxruntime";
  ReadAndPredict(kRelu);
  ASSERT_TRUE(baseline_->file_costs.has_value());
  EXPECT_THAT(baseline_->file_costs->inputs, SizeIs(1));
  ASSERT_THAT(baseline_->cost.groups, SizeIs(1));
  EXPECT_EQ(baseline_->cost.groups[0].spec.op, "ort::Relu");
}

constexpr char kTwoSoftmaxes[] =
    "g (float[N,64] x) => (float[N,64] y) { a = Softmax <axis = 1> (x) y = Softmax <axis = 0> (a) "
    "}";

TEST_F(BaselineTest, ASnapshotOfOtherModelsIsNoted) {
  UseSnapshot({.device = "cpu", .fingerprint = "a core", .engine = "1"});
  ReadAndPredict(kTwoSoftmaxes);
  EXPECT_THAT(baseline_->notes, ElementsAre(HasSubstr("has none of the 2 kernels")));
}

// One of two kernels was measured to take three times as long as the data sheet says, so the other
// one is expected to do so, too.
TEST_F(BaselineTest, WhatASnapshotLacksIsScaledByHowSlowTheRecordedKernelsAre) {
  timing::Snapshot snapshot = {.device = "cpu", .fingerprint = "a core", .engine = "1"};
  UseSnapshot(snapshot);
  ReadAndPredict(kTwoSoftmaxes);
  const cost::GraphCost estimated = baseline_->cost;
  ASSERT_THAT(estimated.groups, SizeIs(2));
  const double us = 3 * estimated.costs[0].us;
  snapshot.timings[kernels::KernelKey(estimated.groups[0].spec)] =
      timing::Rounded({.state = timing::TimingState::kOk,
                       .min_us = us,
                       .q25_us = us,
                       .median_us = us,
                       .samples = 9});
  UseSnapshot(snapshot);
  ReadAndPredict(kTwoSoftmaxes);
  EXPECT_EQ(baseline_->cost.costs[0].source, cost::CostSource::kMeasured);
  EXPECT_EQ(baseline_->cost.costs[1].source, cost::CostSource::kModel);
  EXPECT_NEAR(baseline_->cost.costs[1].us / estimated.costs[1].us, 3, 1e-3);
  EXPECT_NE(&baseline_->costs(), &original_->device->costs());
  EXPECT_EQ(baseline_->costs().Estimate(estimated.groups[1].spec).us, baseline_->cost.costs[1].us);
  EXPECT_THAT(baseline_->notes, IsEmpty()) << "half of the kernels are in it";
}

TEST_F(BaselineTest, ModelsAreRaisedToOpset20UnlessTheOptionsSayMoreOrLess) {
  const auto at = [](int opset) { return onnx::Model{.opset = opset}; };
  EXPECT_EQ(WantedOpset({}, at(13)), 20);
  EXPECT_EQ(WantedOpset({}, at(21)), 21);
  EXPECT_EQ(WantedOpset({.max_opset = 22}, at(13)), 22);
  EXPECT_EQ(WantedOpset({.max_opset = 11}, at(13)), 11);
}

TEST_F(BaselineTest, NoModelIsLoweredOrRaisedPastWhatItHasToKeep) {
  const auto read = [](absl::string_view nodes) {
    return *testing::ReadProto(testing::ModelAtOpset(
        11, absl::StrCat("g (float[2,3] x) => (float[2,3] y) { ", nodes, " }")));
  };
  const onnx::Model known = read("y = Relu(x)");
  EXPECT_EQ(MaxOpset({}, known), 20);
  EXPECT_EQ(MaxOpset({.max_opset = 9}, known), 11);
  // An operator that is not understood, and that opset 13 defines anew.
  const onnx::Model kept = read("t = Hardmax(x) y = Relu(t)");
  EXPECT_EQ(MaxOpset({}, kept), 12);
  EXPECT_EQ(WantedOpset({}, kept), 20);
}

TEST_F(BaselineTest, KernelsAreCountedByWhereTheirCostsComeFromAndFreeOnesAreNot) {
  cost::GraphCost cost;
  for (const auto source : {cost::CostSource::kModel, cost::CostSource::kFree,
                            cost::CostSource::kMeasured, cost::CostSource::kMeasured}) {
    cost.costs.push_back({.source = source});
  }
  const report::KernelCounts counts = CountKernels(cost);
  EXPECT_EQ(counts.measured, 2);
  EXPECT_EQ(counts.estimated, 1);
}

TEST_F(BaselineTest, WhereOtherWorkHasTheCoresOneThreadIsMeasured) {
  UseThreads(2);
  KeepCoresBusy();
  EXPECT_TRUE(ReadsOnOneThread());
  ASSERT_TRUE(original_.has_value());
  EXPECT_EQ(original_->device->threads(), 1);
  EXPECT_EQ(asked_, 2);
}

TEST_F(BaselineTest, ThreadsThatFindCoresAreMeasured) {
  UseThreads(2);
  environment_.has_free_cores = [](int) { return true; };
  EXPECT_FALSE(ReadsOnOneThread());
  ASSERT_TRUE(original_.has_value());
  EXPECT_EQ(original_->device->threads(), 2);
}

TEST_F(BaselineTest, OneThreadNeedsNoFreeCores) {
  UseThreads(1);
  KeepCoresBusy();
  EXPECT_FALSE(ReadsOnOneThread());
  ASSERT_TRUE(original_.has_value());
  EXPECT_EQ(asked_, 0);
}

TEST_F(BaselineTest, ADeviceThatHasNoOneThreadStays) {
  UseThreads(2, /*fails=*/true);
  KeepCoresBusy();
  EXPECT_FALSE(ReadsOnOneThread());
  ASSERT_TRUE(original_.has_value());
  EXPECT_EQ(original_->device->threads(), 2);
}

}  // namespace
}  // namespace quotient::optimize
