// Optimizations that are interrupted, and go on from what they left.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/optimize/devices.h"
#include "core/optimize/optimize.h"
#include "core/optimize/prepared.h"
#include "core/pricing/tensor_workspace.h"
#include "core/search/strategy.h"
#include "core/timing/store.h"
#include "tests/support/egraph/state_image.h"
#include "tests/support/memory_checkpoint.h"
#include "tests/support/networks/network_builder.h"

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::MemoryCheckpoint;
using ::testing::Not;

// Products in a row can be formed in any order: more ways than there is room for.
std::string Chain() {
  networks::NetworkBuilder builder("chain", 5);
  std::string x = builder.Input("input", {"8", "16"});
  int64_t width = 16;
  for (const int64_t next : {24, 4, 40, 8, 32, 12, 16, 20}) {
    x = builder.Project(x, std::exchange(width, next), next, 1);
  }
  builder.Output(x, {"8", "20"});
  return std::move(builder).Build().SerializeAsString();
}

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() {
    options_.device = "model:h200";
    options_.threads = 1;
    options_.budget_seconds = 1;
    options_.max_nodes = 60;
  }

  absl::StatusOr<Result> Run(CheckpointSlot* checkpoint, const CancelToken* token = nullptr,
                             ProgressSink* progress = nullptr) {
    const Environment environment = {
        .devices = &devices_, .clock = Clock::System(), .checkpoint = checkpoint};
    return Optimize({.name = "chain.onnx", .model = model_}, options_, environment,
                    StopCondition(token), progress);
  }
  // What an interrupted run leaves.
  std::string Interrupt() {
    CancelToken token;
    MemoryCheckpoint slot("", /*questions=*/2, &token);
    EXPECT_EQ(Run(&slot, &token).status().code(), absl::StatusCode::kCancelled);
    EXPECT_FALSE(slot.saved().empty());
    return slot.saved().empty() ? "" : slot.saved().front();
  }

  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
  Options options_;
  const std::string model_ = Chain();
};

TEST_F(ResumeTest, TheReportSaysWhatWasTakenOver) {
  MemoryCheckpoint slot(Interrupt());
  const auto result = Run(&slot);
  ASSERT_TRUE(result.ok()) << result.status();
  const report::SearchFigures& search = result->report.search;
  EXPECT_EQ(search.resumed.times, 1);
  EXPECT_GT(search.resumed.simulations, 0);
  EXPECT_GE(search.simulations, search.resumed.simulations);
  EXPECT_GT(search.resumed.seconds, 0);
  EXPECT_GE(search.seconds, search.resumed.seconds);
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
  EXPECT_THAT(result->report.notes, Not(Contains(HasSubstr("checkpoint"))));
  // What comes after the search can be interrupted, too.
  MemoryCheckpoint at_end(slot.saved().back());
  const auto again = Run(&at_end);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->report.search.resumed.times, 2);
  EXPECT_EQ(again->report.search.simulations, search.simulations);
  EXPECT_EQ(again->files.model, result->files.model);
}

// What is reported of the phase `search` when there is an e-graph.
class SearchReports final : public ProgressSink {
 public:
  void Report(const Progress& progress) override {
    if (progress.phase == "search" && progress.enodes > 0) reports.push_back(progress);
  }
  std::vector<Progress> reports;
};

TEST_F(ResumeTest, ProgressGoesOnFromWhereItWas) {
  SearchReports before, after;
  CancelToken token;
  MemoryCheckpoint slot("", /*questions=*/20, &token);
  ASSERT_FALSE(Run(&slot, &token, &before).ok());
  ASSERT_FALSE(before.reports.empty());
  ASSERT_FALSE(slot.saved().empty());
  MemoryCheckpoint left(slot.saved().front());
  const auto result = Run(&left, nullptr, &after);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_FALSE(after.reports.empty());
  const double seconds = result->report.search.resumed.seconds;
  EXPECT_GE(after.reports.front().fraction, std::min(1.0, seconds / options_.budget_seconds));
  EXPECT_EQ(after.reports.front().best_share, before.reports.back().best_share);
}

TEST_F(ResumeTest, ACheckpointOfOtherOptionsIsNotedAndLeftAlone) {
  MemoryCheckpoint slot(Interrupt());
  options_.max_opset = 18;
  const auto result = Run(&slot);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->report.search.resumed.times, 0);
  EXPECT_THAT(result->report.notes, Contains(HasSubstr("its checkpoint is of no use")));
  EXPECT_EQ(result->report.outcome, report::Outcome::kImproved);
}

// tests/core/search/mcts_resume_test.cc checks the same with terms.
TEST_F(ResumeTest, ASearchComesToTheSameEndAsIfNothingHadHappened) {
  const auto prepared = Prepare({.name = "chain.onnx", .model = model_}, options_, 1, {});
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto device = devices_.Get(options_.device, 1);
  ASSERT_TRUE(device.ok()) << device.status();
  pricing::KernelPrices prices(&(*device)->costs());
  const auto make = [&] {
    return pricing::TensorWorkspace::Make(prepared->graph, prepared->measured, {.max_opset = 20},
                                          &prices);
  };
  const search::Strategy& mcts = *search::FindStrategy("mcts");
  search::Task task{.clock = Clock::System()};
  task.limits.max_enodes = 60;
  task.limits.max_simulations = 400;
  task.make_workspace = make;
  const auto whole = *make();
  const auto expected = mcts.Run(*whole, task);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->reason, StopReason::kIterations);
  for (const int workers : {1, 2}) {
    task.workers = workers;
    CancelToken token;
    MemoryCheckpoint slot("", /*questions=*/4, &token);
    search::Task first = task;
    first.checkpoint = &slot;
    first.stop = StopCondition(&token);
    ASSERT_EQ(mcts.Run(**make(), first)->reason, StopReason::kCancelled);
    MemoryCheckpoint left(slot.saved().front());
    search::Task second = task;
    second.checkpoint = &left;
    const auto workspace = *make();
    const auto outcome = mcts.Run(*workspace, second);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->resumed.times, 1);
    EXPECT_EQ(outcome->reason, expected->reason);
    EXPECT_EQ(outcome->simulations, expected->simulations);
    EXPECT_EQ(outcome->states, expected->states);
    EXPECT_EQ(outcome->by_rule, expected->by_rule);
    EXPECT_EQ(outcome->improvements.back().cost, expected->improvements.back().cost);
    EXPECT_EQ(testing::ImageOf(workspace->graph()), testing::ImageOf(whole->graph()));
  }
}

}  // namespace
}  // namespace quotient::optimize
