// Searches that are interrupted and resume from the checkpoint that they left.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/stop.h"
#include "core/search/checkpoint.h"
#include "core/search/mcts.h"
#include "core/search/simulation_window.h"
#include "tests/core/search/term_search.h"
#include "tests/support/memory_checkpoint.h"

namespace quotient::search {
namespace {

using testing::MemoryCheckpoint;

// The same workspace with all costs multiplied by three.
class DearWorkspace : public Workspace {
 public:
  explicit DearWorkspace(Workspace* inner) : inner_(*inner) {}
  egraph::EGraph& graph() override { return inner_.graph(); }
  std::span<const egraph::Rule* const> rules() const override { return inner_.rules(); }
  void OnGraphGrown() override { inner_.OnGraphGrown(); }
  double Cost(const StopCondition& stop) override { return 3 * inner_.Cost(stop); }
  void ForEachBest(const std::function<void(egraph::ClassId)>& visit) override {
    inner_.ForEachBest(visit);
  }
  void Mark() override { inner_.Mark(); }
  void Rollback() override { inner_.Rollback(); }
  void Forget() override { inner_.Forget(); }

 private:
  Workspace& inner_;
};

// Keeps the first checkpoint that a search leaves after it has restarted with a new tree.
class SlotAfterRestart : public CheckpointSlot {
 public:
  std::string Load() override { return ""; }
  // Asks for checkpoints so often that one falls into the time after a restart in which simulations
  // of the tree before are still under way.
  bool Due() override { return checkpoint.empty() && ++questions_ % 8 == 0; }
  void Save(absl::string_view bytes) override {
    if (!checkpoint.empty()) return;
    // Reads the fields that mcts_record.cc writes first.
    FieldReader reader(bytes.substr(4 + 2 * Digest::kSize));
    double seconds;
    uint64_t saturated, times, next, restarts;
    std::vector<Improvement> improvements;
    reader.Real(seconds, 0, kMostSeconds);
    reader.Number(saturated, 1);
    reader.Number(times, 0);
    reader.Number(simulations, kMostCounted);
    reader.List(improvements, 17, [&reader](Improvement& improvement) {
      reader.Real(improvement.seconds, 0, kMostSeconds);
      reader.Number(improvement.simulations, kMostCounted);
      reader.Real(improvement.cost, 0, kAnyCost);
    });
    reader.Number(next, kMostCounted);
    reader.Number(restarts, kMostCounted);
    ASSERT_TRUE(reader.ok());
    if (restarts == 0) return;
    checkpoint = std::string(bytes);
    token.Cancel();
  }

  CancelToken token;
  std::string checkpoint;
  int64_t simulations = 0;

 private:
  int questions_ = 0;
};

class MctsResumeTest : public TermSearchTest {
 protected:
  static constexpr int64_t kSimulations = 700;

  MctsResumeTest() {
    task_.limits.max_simulations = kSimulations;
    task_.make_workspace = [this] { return Make(); };
  }

  // The final state as text, and the outcome.
  struct End {
    std::string text;
    Outcome outcome;
  };
  End RunToEnd(const std::string& from) {
    MemoryCheckpoint slot(from);
    task_.checkpoint = &slot;
    const auto workspace = *Make();
    Outcome outcome = Run(mcts_, *workspace);
    task_.checkpoint = nullptr;
    return {testing::TextOf(workspace->graph()), std::move(outcome)};
  }

  struct Interrupted {
    std::string in_between;  // what a process leaves that is killed
    std::string at_end;      // what one leaves that is told to stop
    Outcome outcome;
  };
  // Cancels the search when it has asked the slot this many times whether a checkpoint is due. Only
  // one worker asks, so others may have done much more by then.
  Interrupted RunUntil(int questions, const std::string& from = "") {
    const int64_t max_simulations = std::exchange(task_.limits.max_simulations, 1'000'000);
    CancelToken token;
    MemoryCheckpoint slot(from, questions, &token);
    task_.checkpoint = &slot;
    task_.stop = StopCondition(&token);
    Interrupted left = {.outcome = Run(mcts_, **Make())};
    EXPECT_EQ(left.outcome.reason, StopReason::kCancelled);
    task_.checkpoint = nullptr;
    task_.stop = {};
    task_.limits.max_simulations = max_simulations;
    EXPECT_GE(slot.saved().size(), 1u);
    left.in_between = slot.saved().front();
    left.at_end = slot.saved().back();
    return left;
  }

  void ExpectRefused(const std::string& checkpoint, absl::string_view why) {
    const End end = RunToEnd(checkpoint);
    EXPECT_EQ(end.outcome.checkpoint_refused, why);
    EXPECT_EQ(end.outcome.resumed.times, 0);
    const End fresh = RunToEnd("");
    EXPECT_EQ(fresh.outcome.checkpoint_refused, "");
    ExpectSameOutcome(end.outcome, fresh.outcome);
  }

  const MctsStrategy mcts_;
};

TEST_F(MctsResumeTest, ComesToTheSameEndAsIfNothingHadHappened) {
  for (const int workers : {1, 2, 8}) {
    for (const int questions : {1, 9}) {
      SCOPED_TRACE(absl::StrCat(workers, " workers, ", questions, " questions"));
      task_.workers = workers;
      const Interrupted left = RunUntil(questions);
      task_.limits.max_simulations = left.outcome.simulations + 200;
      const End whole = RunToEnd("");
      EXPECT_EQ(whole.outcome.reason, StopReason::kIterations);
      for (const std::string& checkpoint : {left.in_between, left.at_end}) {
        const End end = RunToEnd(checkpoint);
        EXPECT_EQ(end.text, whole.text);
        ExpectSameOutcome(end.outcome, whole.outcome);
        EXPECT_EQ(end.outcome.resumed.times, 1);
        EXPECT_LE(end.outcome.resumed.simulations, left.outcome.simulations);
        EXPECT_GT(end.outcome.resumed.seconds, 0);
        EXPECT_EQ(end.outcome.checkpoint_refused, "");
      }
    }
  }
}

TEST_F(MctsResumeTest, TheNumberOfWorkersMayChange) {
  task_.workers = 8;
  const Interrupted left = RunUntil(5);
  task_.limits.max_simulations = left.outcome.simulations + 200;
  const End whole = RunToEnd("");
  task_.workers = 2;
  const End end = RunToEnd(left.in_between);
  EXPECT_EQ(end.text, whole.text);
  ExpectSameOutcome(end.outcome, whole.outcome);
}

TEST_F(MctsResumeTest, AsOftenAsNeeded) {
  const End whole = RunToEnd("");
  std::string checkpoint;
  int64_t before = 0;
  for (int times = 1; times <= 4; ++times) {
    const Interrupted left = RunUntil(20, checkpoint);
    EXPECT_EQ(left.outcome.resumed.times, times - 1);
    EXPECT_EQ(left.outcome.resumed.simulations > 0, times > 1);
    EXPECT_GT(left.outcome.simulations, before);
    before = left.outcome.simulations;
    checkpoint = left.in_between;
  }
  const End end = RunToEnd(checkpoint);
  EXPECT_EQ(end.outcome.resumed.times, 4);
  EXPECT_EQ(end.text, whole.text);
  ExpectSameOutcome(end.outcome, whole.outcome);
}

// Right after a restart, most simulations under way were selected in the tree before.
TEST_F(MctsResumeTest, RightAfterARestart) {
  task_.limits.max_enodes = 200;
  task_.limits.max_simulations = 1'000'000;
  SlotAfterRestart slot;
  task_.checkpoint = &slot;
  task_.stop = StopCondition(&slot.token);
  EXPECT_EQ(Run(mcts_, **Make()).reason, StopReason::kCancelled);
  task_.stop = {};
  task_.limits.max_simulations = slot.simulations + 500;
  const End whole = RunToEnd("");
  const End end = RunToEnd(slot.checkpoint);
  EXPECT_EQ(end.outcome.resumed.simulations, slot.simulations);
  EXPECT_EQ(end.text, whole.text);
  ExpectSameOutcome(end.outcome, whole.outcome);
}

TEST_F(MctsResumeTest, FromTheEndThereIsNothingLeftToDo) {
  MemoryCheckpoint slot("");
  task_.checkpoint = &slot;
  const Outcome whole = Run(mcts_, **Make());
  ASSERT_EQ(slot.saved().size(), 1u);
  const End end = RunToEnd(slot.saved()[0]);
  ExpectSameOutcome(end.outcome, whole);
  EXPECT_EQ(end.outcome.resumed.times, 1);
}

TEST_F(MctsResumeTest, TimeThatWasSpentIsNotSpentAgain) {
  const Interrupted left = RunUntil(30);
  const double spent = RunToEnd(left.in_between).outcome.resumed.seconds;
  task_.stop = StopCondition().WithBudget(clock_, spent / 2);
  const Outcome outcome = RunToEnd(left.in_between).outcome;
  EXPECT_EQ(outcome.reason, StopReason::kDeadline);
  EXPECT_GT(outcome.simulations, 0);
  // The results that were in the window are added, and nothing else is tried.
  EXPECT_LE(outcome.simulations, outcome.resumed.simulations + 8 * SimulationWindow::kSize);
  EXPECT_LT(outcome.simulations, kSimulations);
  for (size_t i = 1; i < outcome.improvements.size(); ++i) {
    EXPECT_LE(outcome.improvements[i - 1].seconds, outcome.improvements[i].seconds);
  }
}

TEST_F(MctsResumeTest, CostsMayChangeMeanwhile) {
  const Interrupted left = RunUntil(30);
  MemoryCheckpoint slot(left.in_between);
  task_.checkpoint = &slot;
  const auto workspace = *Make();
  const double first = workspace->Cost({});
  DearWorkspace dear(workspace.get());
  task_.make_workspace = nullptr;
  const auto outcome = mcts_.Run(dear, task_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->resumed.times, 1);
  EXPECT_GE(outcome->simulations, kSimulations);
  EXPECT_EQ(outcome->improvements.front().cost, 3 * first);
  // The best state of the interrupted search, at the present costs, is the first improvement.
  ASSERT_GE(outcome->improvements.size(), 2u);
  EXPECT_EQ(outcome->improvements[1].simulations, outcome->resumed.simulations);
  double best = first;
  for (const Improvement& improvement : left.outcome.improvements) {
    if (improvement.simulations <= outcome->resumed.simulations) best = improvement.cost;
  }
  EXPECT_EQ(outcome->improvements[1].cost, 3 * best);
  EXPECT_EQ(outcome->improvements.back().cost, dear.Cost({}));
}

TEST_F(MctsResumeTest, WhereAllThereIsCanBeHadNothingIsLeft) {
  rules_ = "comm: (+ ?a ?b) => (+ ?b ?a)";
  term_ = "(+ a b)";
  MemoryCheckpoint slot("");
  task_.checkpoint = &slot;
  EXPECT_EQ(Run(mcts_, **Make()).reason, StopReason::kSaturated);
  EXPECT_TRUE(slot.saved().empty());
}

TEST_F(MctsResumeTest, AnotherSearchBeginsAnew) {
  task_.limits.max_simulations = 200;
  constexpr absl::string_view kWhy = "it is of another search";
  const std::string checkpoint = RunUntil(10).in_between;
  ++task_.seed;
  ExpectRefused(checkpoint, kWhy);
  --task_.seed;
  --task_.limits.max_enodes;
  ExpectRefused(checkpoint, kWhy);
  ++task_.limits.max_enodes;
  task_.context = "version 2";
  ExpectRefused(checkpoint, kWhy);
  task_.context.clear();
  const std::string term = std::exchange(term_, absl::StrCat("(+ 7 ", term_, ")"));
  ExpectRefused(checkpoint, kWhy);
  term_ = term;
  rules_ = absl::StrCat(rules_, "\nmore: (+ ?a 7) => (+ 7 ?a)\n");
  ExpectRefused(checkpoint, kWhy);
}

TEST_F(MctsResumeTest, WhatIsDamagedIsOfNoUse) {
  task_.limits.max_simulations = 100;
  std::string checkpoint = RunUntil(3).in_between;
  ExpectRefused("QSC0" + checkpoint.substr(4), "it is of another version");
  ExpectRefused("x", "it is of another version");
  ExpectRefused(checkpoint.substr(0, 40), "it is cut off");
  ExpectRefused(checkpoint.substr(0, checkpoint.size() - 1), "it is damaged");
  checkpoint[checkpoint.size() / 2] ^= 1;
  ExpectRefused(checkpoint, "it is damaged");
}

// Checkpoints in an intact envelope whose content no search would write, such as cut off ones, are
// refused.
TEST_F(MctsResumeTest, WhatMakesNoSenseIsOfNoUse) {
  task_.limits.max_simulations = 20;
  const Digest search = SearchIdentity("mcts", **Make(), task_);
  const std::string checkpoint = RunUntil(1).in_between;
  const auto content = OpenCheckpoint(search, checkpoint);
  ASSERT_TRUE(content.ok()) << content.status();
  constexpr absl::string_view kWhy = "its fields contradict each other";
  ExpectRefused(SealCheckpoint(search, ""), kWhy);
  ExpectRefused(SealCheckpoint(search, absl::StrCat(*content, "x")), kWhy);
  for (size_t size = 1; size < content->size(); size += 1 + content->size() / 40) {
    SCOPED_TRACE(size);
    ExpectRefused(SealCheckpoint(search, content->substr(0, size)), kWhy);
  }
}

}  // namespace
}  // namespace quotient::search
