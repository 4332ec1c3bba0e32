// Which graphs are chosen from small e-graphs, and which kernels are measured meanwhile.

#include "core/optimize/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "tests/core/optimize/grown_fixture.h"
#include "tests/support/ticking_clock.h"

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// What a test knows of kernels, by operator. They are measured when they were requested and
// somebody waits.
class LearningModel final : public cost::CostModel {
 public:
  // What is thought of each kernel, and how long it really takes.
  struct Kernel {
    double prior_us;
    double true_us;
  };
  LearningModel(std::map<std::string, Kernel> kernels, bool measures)
      : kernels_(std::move(kernels)), measures_(measures) {}

  // Lets the kernel count as one that was measured earlier.
  void Record(const std::string& op) { known_.insert(op); }
  const std::vector<std::string>& requested() const { return requested_; }
  int waits() const { return waits_; }

  cost::KernelCost Estimate(const kernels::KernelSpec& spec) override {
    if (!known_.contains(spec.op)) return Prior(spec);
    return {kernels_.at(spec.op).true_us, 0, cost::CostSource::kMeasured, true};
  }
  cost::KernelCost Prior(const kernels::KernelSpec& spec) override {
    return {kernels_.at(spec.op).prior_us, 0, cost::CostSource::kModel};
  }
  void Request(const kernels::KernelSpec& spec) override { requested_.push_back(spec.op); }
  int64_t measurements() const override { return measures_ ? std::ssize(known_) : 0; }
  void Wait(const StopCondition&) override {
    ++waits_;
    known_.insert(requested_.begin(), requested_.end());
  }
  const kernels::PartitionOptions& partition() const override { return partition_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  bool measures() const override { return measures_; }
  bool knows_measurements() const override { return measures_ || !known_.empty(); }

 private:
  const std::map<std::string, Kernel> kernels_;
  const bool measures_;
  const kernels::PartitionOptions partition_;
  const std::string fingerprint_ = "learning";
  std::set<std::string> known_;
  std::vector<std::string> requested_;
  int waits_ = 0;
};

// One node, which rules replace by others.
constexpr char kNode[] = R"(
    input x: float32[4]
    y = Exp(x)
    output y)";
constexpr char kOthers[] = R"(
exp-neg: Exp(?x) => Neg(?x)
exp-floor: Exp(?x) => Floor(?x)
exp-ceil: Exp(?x) => Ceil(?x)
)";

class ChooseTest : public GrownTest {
 protected:
  // The operators of each candidate, in order.
  std::vector<std::string> Choose(LearningModel& model, const StopCondition& stop = {},
                                  const Clock* clock = nullptr) {
    if (clock == nullptr) clock = &clock_;
    Grow(graph_, rules_, &model, stop);
    absl::StatusOr<Choices> choices = ChooseCandidates(*grown_, model,
                                                       {.clock = *clock,
                                                        .start_ns = 0,
                                                        .seconds = seconds_,
                                                        .alternatives = alternatives_,
                                                        .report_progress = [this] { ++reports_; }},
                                                       stop);
    EXPECT_OK(choices.status());
    if (!choices.ok()) return {};
    choices_ = *std::move(choices);
    EXPECT_EQ(choices_.selections.size(), choices_.found.size());
    std::vector<std::string> ops;
    for (const Candidate& candidate : choices_.found) {
      ops.push_back(absl::StrJoin(OpsOf(candidate.graph), " "));
    }
    return ops;
  }

  const char* graph_ = kNode;
  const char* rules_ = kOthers;
  double seconds_ = 60;
  int alternatives_ = 1;
  int reports_ = 0;
  Choices choices_;
};

TEST_F(ChooseTest, WhereNothingIsMeasuredTheCheapestGraphIsChosen) {
  LearningModel model({{"Exp", {9, 9}}, {"Neg", {3, 3}}, {"Floor", {2, 2}}, {"Ceil", {5, 5}}},
                      /*measures=*/false);
  EXPECT_THAT(Choose(model), ElementsAre("Floor"));
  EXPECT_EQ(choices_.found[0].cost_us, 2);
  EXPECT_THAT(model.requested(), IsEmpty());
  EXPECT_EQ(choices_.kernels_measured, 0);
  EXPECT_EQ(reports_, 0);
}

TEST_F(ChooseTest, WhereTheOriginalIsTheBestThereIsNoCandidate) {
  LearningModel model({{"Exp", {1, 1}}, {"Neg", {3, 3}}, {"Floor", {2, 2}}, {"Ceil", {5, 5}}},
                      /*measures=*/false);
  EXPECT_THAT(Choose(model), IsEmpty());
}

// Neg is thought to be the best, and then Floor. Ceil cannot be better than Floor is.
TEST_F(ChooseTest, WhatPromisesMostIsMeasuredUntilTheBestIsKnown) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/true);
  const std::vector<std::string> chosen = Choose(model);
  EXPECT_EQ(chosen.front(), "Floor");
  EXPECT_EQ(choices_.found.front().cost_us, 3);
  EXPECT_THAT(model.requested(), UnorderedElementsAre("Exp", "Neg", "Floor"));
  EXPECT_EQ(choices_.kernels_measured, 3);
  EXPECT_GT(reports_, 0);
}

// Each measurement disappoints, so another kernel promises more, round by round.
TEST_F(ChooseTest, DisappointmentsAreFollowedByFurtherRounds) {
  LearningModel model({{"Exp", {9, 9}},
                       {"Neg", {1, 8}},
                       {"Floor", {2, 8}},
                       {"Ceil", {3, 8}},
                       {"Abs", {4, 8}},
                       {"Sqrt", {5, 6}}},
                      /*measures=*/true);
  rules_ = R"(
exp-neg: Exp(?x) => Neg(?x)
exp-floor: Exp(?x) => Floor(?x)
exp-ceil: Exp(?x) => Ceil(?x)
exp-abs: Exp(?x) => Abs(?x)
exp-sqrt: Exp(?x) => Sqrt(?x)
)";
  EXPECT_EQ(Choose(model).front(), "Sqrt");
  EXPECT_EQ(choices_.kernels_measured, 6);
}

// The prior is optimistic and may be the better guide on a busy machine.
TEST_F(ChooseTest, WhatThePriorWouldChooseIsTheLastCandidate) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/true);
  EXPECT_THAT(Choose(model), ElementsAre("Floor", "Neg"));
}

TEST_F(ChooseTest, WithoutTimeNothingMoreIsMeasured) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/true);
  seconds_ = 0;
  EXPECT_THAT(Choose(model), ElementsAre("Neg")) << "by the prior";
  EXPECT_THAT(model.requested(), UnorderedElementsAre("Exp", "Neg")) << "the search wanted Neg";
  EXPECT_EQ(model.waits(), 0);
  EXPECT_EQ(choices_.kernels_measured, 0) << "requests alone measure nothing";
}

// The time is counted from when the search began.
TEST_F(ChooseTest, TimeThatTheSearchHasTakenIsGone) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/true);
  clock_.Advance(61e6);
  EXPECT_THAT(Choose(model), ElementsAre("Neg"));
  EXPECT_EQ(model.waits(), 0);
}

TEST_F(ChooseTest, ADeadlineThatHasPassedLeavesTheLastChoices) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/true);
  clock_.Advance(10);
  EXPECT_THAT(Choose(model, StopCondition(nullptr, clock_, /*deadline_ns=*/1)), ElementsAre("Neg"));
  EXPECT_EQ(model.waits(), 0);
}

// Between any two looks at the clock more time passes than there is.
TEST_F(ChooseTest, OnceTimeIsUpOneCandidateIsEnough) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/true);
  for (const char* const op : {"Exp", "Neg", "Floor", "Ceil"}) model.Record(op);
  const quotient::testing::TickingClock clock(/*step_ns=*/10'000'000'000);
  EXPECT_THAT(Choose(model, {}, &clock), ElementsAre("Floor"));
}

// Alternatives cost at most 5 % more than the best graph: 10.5 us here. All kernels are measured,
// because all promise to be better than the best one is.
TEST_F(ChooseTest, AlternativesAreNearTheBest) {
  const std::map<std::string, LearningModel::Kernel> kernels = {
      {"Exp", {99, 99}}, {"Neg", {9, 10}}, {"Floor", {9, 10.4}}, {"Ceil", {9, 10.6}}};
  for (const int alternatives : {1, 2, 3}) {
    SCOPED_TRACE(alternatives);
    LearningModel model(kernels, /*measures=*/true);
    alternatives_ = alternatives;
    const std::vector<std::string> chosen = Choose(model);
    EXPECT_EQ(chosen.front(), "Neg");
    EXPECT_EQ(std::ranges::count(chosen, "Floor"), alternatives > 1 ? 1 : 0);
    EXPECT_THAT(chosen, Not(Contains("Ceil")));
  }
}

// They must also keep half of the gain. The original takes 4 % longer than the best graph here.
TEST_F(ChooseTest, AlternativesKeepHalfOfTheGain) {
  alternatives_ = 3;
  LearningModel model(
      {{"Exp", {104, 104}}, {"Neg", {90, 100}}, {"Floor", {90, 101.9}}, {"Ceil", {90, 103}}},
      /*measures=*/true);
  const std::vector<std::string> chosen = Choose(model);
  EXPECT_EQ(chosen.front(), "Neg");
  EXPECT_THAT(chosen, Contains("Floor"));
  EXPECT_THAT(chosen, Not(Contains("Ceil")));
}

// Kernels pay half of the surcharge to one and a half times of it.
TEST_F(ChooseTest, WhatIsCheaperThanTheOriginalByLessThanTheSurchargeIsNotChosen) {
  surcharge_ = 0.01;
  for (const double neg_us : {98.4, 99.6}) {
    LearningModel model({{"Exp", {100, 100}},
                         {"Neg", {neg_us, neg_us}},
                         {"Floor", {200, 200}},
                         {"Ceil", {200, 200}}},
                        /*measures=*/true);
    EXPECT_EQ(Choose(model).size(), neg_us < 99 ? 1 : 0) << neg_us;
  }
}

TEST_F(ChooseTest, BetweenFormsThatCostAboutTheSamePricesDoNotDecide) {
  surcharge_ = 0.01;
  const auto best = [&](double neg_us, double floor_us) {
    LearningModel model({{"Exp", {100, 100}},
                         {"Neg", {neg_us, neg_us}},
                         {"Floor", {floor_us, floor_us}},
                         {"Ceil", {200, 200}}},
                        /*measures=*/true);
    return Choose(model).front();
  };
  EXPECT_EQ(best(90.01, 90), best(90, 90.01));
  EXPECT_EQ(best(89, 90), "Neg");
  EXPECT_EQ(best(90, 89), "Floor");
}

// The original's Softmax has the same kernel, and so the same price.
TEST_F(ChooseTest, AKernelThatTheOriginalHasPaysNoSurcharge) {
  graph_ = R"(
    input x: float32[4]
    n = Neg(x)
    e = Softmax(x)
    y = LogSoftmax(e)
    output n
    output y)";
  rules_ = "no-log: LogSoftmax[?l](Softmax[?s](?x)) => Softmax[?s](Neg(?x))";
  surcharge_ = 0.01;
  for (const double last_us : {0.005, 0.5}) {
    LearningModel model(
        {{"Softmax", {100, 100}}, {"Neg", {1, 1}}, {"LogSoftmax", {last_us, last_us}}},
        /*measures=*/true);
    EXPECT_EQ(Choose(model).size(), last_us < 0.01 ? 0 : 1) << last_us;
  }
}

TEST_F(ChooseTest, AlternativesKeepHalfOfTheGainThatTheSurchargeLeaves) {
  alternatives_ = 3;
  surcharge_ = 0.01;
  LearningModel model(
      {{"Exp", {100, 100}}, {"Neg", {97, 97}}, {"Floor", {97.2, 97.2}}, {"Ceil", {98.8, 98.8}}},
      /*measures=*/true);
  EXPECT_THAT(Choose(model), UnorderedElementsAre("Neg", "Floor"));
}

// Measurements were recorded, but for other kernels than the one that promises most. It comes last.
TEST_F(ChooseTest, WhatWasNotRecordedIsTheLastResort) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/false);
  for (const char* op : {"Exp", "Ceil"}) model.Record(op);
  EXPECT_THAT(Choose(model), ElementsAre("Ceil", "Neg"));
  EXPECT_THAT(model.requested(), IsEmpty());
}

TEST_F(ChooseTest, ACancelledJobEndsWithoutMeasuring) {
  LearningModel model({{"Exp", {8, 9}}, {"Neg", {1, 7}}, {"Floor", {2, 3}}, {"Ceil", {4, 4}}},
                      /*measures=*/true);
  Grow(kNode, kOthers, &model);
  CancelToken token;
  token.Cancel();
  const auto choices = ChooseCandidates(*grown_, model,
                                        {.clock = clock_,
                                         .start_ns = 0,
                                         .seconds = 60,
                                         .alternatives = 3,
                                         .report_progress = [this] { ++reports_; }},
                                        StopCondition(&token));
  EXPECT_EQ(model.waits(), 0);
  EXPECT_EQ(reports_, 0);
}

}  // namespace
}  // namespace quotient::optimize
