#include "core/optimize/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/reason.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Time passes only where a test says so.
class SteppedClock : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_; }
  int64_t UnixMs() const override { return 0; }
  void Advance(double seconds) { now_ns_ += static_cast<int64_t>(seconds * 1e9); }

 private:
  int64_t now_ns_ = 1'000'000'000;
};

class CollectingSink : public ProgressSink {
 public:
  void Report(const Progress& progress) override { told.push_back(progress); }
  std::vector<Progress> told;
};

class RunRecordTest : public ::testing::Test {
 protected:
  SteppedClock clock_;
  CancelToken token_;
  StopCondition stop_ = StopCondition(&token_).WithBudget(clock_, 10);
  ModelFiles files_;
  Options options_;
  Environment environment_{.clock = clock_};
  Budget budget_{options_, clock_, stop_};
  Job job_{rules::AllFamilies(), files_, options_, environment_, stop_, budget_};
  CollectingSink sink_;
  RunRecord record_{job_, &sink_};
};

TEST_F(RunRecordTest, APhaseIsTimedAndTold) {
  record_.SetOriginalCost(20);
  const absl::StatusOr<int> value = record_.Phase("search", [&]() -> absl::StatusOr<int> {
    clock_.Advance(1);
    record_.ReportSearch(0.25, 0.5, 100);
    clock_.Advance(2);
    return 7;
  });
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, 7);
  EXPECT_DOUBLE_EQ(record_.report().phase_seconds.at("search"), 3);
  ASSERT_EQ(sink_.told.size(), 3);
  EXPECT_EQ(sink_.told[0].phase, "search");
  EXPECT_EQ(sink_.told[0].fraction, 0);
  EXPECT_EQ(sink_.told[0].best_share, 0);
  EXPECT_DOUBLE_EQ(sink_.told[1].elapsed_seconds, 1);
  EXPECT_EQ(sink_.told[1].fraction, 0.25);
  EXPECT_EQ(sink_.told[1].best_share, 0.5);
  EXPECT_EQ(sink_.told[1].enodes, 100);
  EXPECT_EQ(sink_.told[1].original_cost_us, 20);
  EXPECT_EQ(sink_.told[2].fraction, 1);
  EXPECT_DOUBLE_EQ(sink_.told[2].elapsed_seconds, 3);
}

TEST_F(RunRecordTest, NoPhaseBeginsWhenTimeIsUpOrTheJobIsCancelled) {
  const auto refused = [&](absl::string_view name) {
    const absl::StatusOr<int> value = record_.Phase(name, []() -> absl::StatusOr<int> {
      ADD_FAILURE() << "the phase was begun";
      return 0;
    });
    return value.status();
  };
  clock_.Advance(11);
  const absl::Status late = refused("verify");
  EXPECT_EQ(GetReason(late), Reason::kRunBudget);
  EXPECT_THAT(std::string(late.message()), HasSubstr("before the phase verify"));
  token_.Cancel();
  EXPECT_EQ(GetReason(refused("measure")), Reason::kCancelled);
  EXPECT_TRUE(sink_.told.empty());
  EXPECT_TRUE(record_.report().phase_seconds.empty());
}

TEST_F(RunRecordTest, OnlyDefectsOfOursAreToBeReported) {
  record_.NoteFailure("the search failed", absl::InternalError("why"));
  record_.NoteFailure("there is no journal of the result",
                      MakeError(Reason::kRunBudget, "it takes more steps than it may"));
  record_.NoteRefused({.failure = "far off", .breaks_names = false});
  record_.NoteRefused({.failure = "names", .breaks_names = true});
  EXPECT_THAT(record_.TakeReport().notes,
              ElementsAre("the search failed (please report this model): why",
                          "there is no journal of the result: it takes more steps than it may",
                          "a candidate did not agree with the original and was thrown away "
                          "(please report this model): far off",
                          "a candidate was thrown away, as it needs sizes of one name to be equal "
                          "where the original does not: names"));
}

TEST_F(RunRecordTest, ASinkIsNotNeeded) {
  RunRecord silent(job_, nullptr);
  EXPECT_TRUE(silent.Phase("read", [] { return absl::OkStatus(); }).ok());
}

}  // namespace
}  // namespace quotient::optimize
