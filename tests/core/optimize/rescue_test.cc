#include "core/optimize/rescue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/reason.h"
#include "tests/core/optimize/stage_fixture.h"

namespace quotient::optimize {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// One rule that holds, and two that hold for numbers that are not negative.
constexpr char kRules[] = R"(
# -(-x) = x
neg-neg: Neg(Neg(?x)) => ?x
# Relu(x) = x, which is wrong
relu-is-nothing: Relu(?x) => ?x
# Abs(x) = x, which is wrong
abs-is-nothing: Abs(?x) => ?x
)";

constexpr char kModel[] =
    "g (float[N,4] x) => (float[N,4] y) { a = Neg(x) b = Neg(a) c = Tanh(b) y = Relu(c) }";

class RescueTest : public StageTest {
 protected:
  RescueTest() { families_ = table_; }

  // Rescues what a search for the job's model lost, which applied these rules.
  Rescued RescueFrom(std::vector<std::string> applied, const StopCondition& stop = {}) {
    auto checker = NewOriginalChecker(*job_, *original_);
    EXPECT_OK(checker.status());
    return RescueBy((*checker)->checker, std::move(applied), stop);
  }
  Rescued RescueBy(verify::Checker& checker, std::vector<std::string> applied,
                   const StopCondition& stop = {}) {
    Refusals refusals{.applied = std::move(applied)};
    refusals.refused.push_back({.failure = "it differs"});
    return Rescue(*job_, *baseline_, checker, std::move(refusals), stop);
  }

  static std::vector<std::string> OpsOf(const Rescued& rescued) {
    std::vector<std::string> ops;
    for (const Verified& candidate : rescued.candidates) {
      EXPECT_TRUE(candidate.verdict.passed);
      ops.push_back(testing::OpsOf(candidate.packaged.prepared.model.graph));
    }
    return ops;
  }

  const std::vector<rules::Family> table_ = {{"given", kRules, nullptr, nullptr}};
};

TEST_F(RescueTest, AWrongRuleIsNamedAndWhatTheOthersGainIsKept) {
  ReadAndPredict(kModel);
  const Rescued rescued = RescueFrom({"neg-neg", "relu-is-nothing"});
  EXPECT_OK(rescued.ended);
  EXPECT_THAT(rescued.culprits, ElementsAre("relu-is-nothing"));
  EXPECT_THAT(OpsOf(rescued), ElementsAre("Tanh,Relu"));
  EXPECT_THAT(rescued.refused, SizeIs(1)) << "what was refused stays refused";
  EXPECT_FALSE(rescued.names_are_forgotten);
}

TEST_F(RescueTest, WithoutTheFirstWrongRuleAnotherOneIsFound) {
  ReadAndPredict(R"(g (float[N,4] x) => (float[N,4] y, float[N,4] z) {
    a = Neg(x)
    b = Neg(a)
    c = Tanh(b)
    y = Relu(c)
    z = Abs(c)
  })");
  const Rescued rescued = RescueFrom({"abs-is-nothing", "neg-neg", "relu-is-nothing"});
  EXPECT_OK(rescued.ended);
  EXPECT_THAT(rescued.culprits, UnorderedElementsAre("abs-is-nothing", "relu-is-nothing"));
  EXPECT_THAT(OpsOf(rescued), ElementsAre("Tanh,Relu,Abs"));
}

TEST_F(RescueTest, WhereNoRuleDoesHarmNoneIsNamed) {
  ReadAndPredict(kModel);
  const Rescued rescued = RescueFrom({"neg-neg"});
  EXPECT_OK(rescued.ended);
  EXPECT_THAT(rescued.culprits, IsEmpty());
  EXPECT_THAT(rescued.candidates, IsEmpty());
  EXPECT_THAT(rescued.refused, SizeIs(1));
}

// The rules that the user disabled are not tried.
TEST_F(RescueTest, DisabledRulesStayDisabled) {
  options_.disabled_rules = {"neg-neg"};
  ReadAndPredict(kModel);
  const Rescued rescued = RescueFrom({"relu-is-nothing"});
  EXPECT_OK(rescued.ended);
  EXPECT_THAT(rescued.culprits, ElementsAre("relu-is-nothing"));
  EXPECT_THAT(OpsOf(rescued), IsEmpty()) << "nothing is left to gain";
}

// The shape of x is that of z only by its name.
constexpr char kNamesMislead[] = R"(
  g (float[N,S,4] x, float[N,S,4] z) => (float[M,S,4] y) {
    a = Neg(x)
    b = Neg(a)
    s = Shape(x)
    e = Reshape(z, s)
    y = Concat <axis = 0> (b, e)
  })";

TEST_F(RescueTest, WhereNamesMisleadTheSearchIsMadeAgainWithoutThem) {
  ReadAndPredict(kNamesMislead);
  const Rescued rescued = RescueFrom({"neg-neg"});
  EXPECT_OK(rescued.ended);
  EXPECT_TRUE(rescued.names_are_forgotten);
  EXPECT_THAT(rescued.refused, IsEmpty());
  EXPECT_THAT(rescued.culprits, IsEmpty());
  EXPECT_THAT(OpsOf(rescued), ElementsAre("Shape,Reshape,Concat"));
  for (const Verified& candidate : rescued.candidates) {
    EXPECT_NE(candidate.packaged.written_from, nullptr);
  }
}

TEST_F(RescueTest, NamesMayMisleadAndARuleBeWrong) {
  ReadAndPredict(R"(g (float[N,S,4] x, float[N,S,4] z) => (float[M,S,4] y) {
    a = Neg(x)
    b = Neg(a)
    c = Tanh(b)
    d = Relu(c)
    s = Shape(x)
    e = Reshape(z, s)
    y = Concat <axis = 0> (d, e)
  })");
  const Rescued rescued = RescueFrom({"neg-neg", "relu-is-nothing"});
  EXPECT_OK(rescued.ended);
  EXPECT_TRUE(rescued.names_are_forgotten);
  EXPECT_THAT(rescued.culprits, ElementsAre("relu-is-nothing"));
  EXPECT_THAT(OpsOf(rescued), ElementsAre("Tanh,Relu,Shape,Reshape,Concat"));
}

// As if the graph that was read were not the one that was checked.
TEST_F(RescueTest, NoRuleIsToBlameIfTheModelDiffersByItself) {
  ReadAndPredict(kModel);
  const std::string bytes =
      testing::ModelAtOpset(17, "g (float[N,4] x) => (float[N,4] y) { y = Sigmoid(x) }")
          .SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const Prepared other,
                       Prepare({.name = "other.onnx", .model = bytes}, options_, 1, stop_));
  ASSERT_OK_AND_ASSIGN(
      verify::Checker checker,
      verify::Checker::Create({&other.model.graph, &other.cut}, other.shapes.shapes, {}, stop_));
  const Rescued rescued = RescueBy(checker, {"neg-neg", "relu-is-nothing"});
  EXPECT_THAT(rescued.ended, StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(rescued.culprits, IsEmpty());
  EXPECT_THAT(rescued.candidates, IsEmpty());
  EXPECT_FALSE(rescued.names_are_forgotten);
  EXPECT_THAT(rescued.refused, SizeIs(1));
}

TEST_F(RescueTest, AHuntThatEndsEarlySaysWhy) {
  ReadAndPredict(kModel);
  CancelToken cancelled;
  cancelled.Cancel();
  const Rescued early = RescueFrom({"relu-is-nothing"}, StopCondition(&cancelled));
  EXPECT_THAT(early.ended, HasReason(Reason::kCancelled));
  EXPECT_THAT(early.refused, SizeIs(1));
  EXPECT_THAT(early.culprits, IsEmpty());
  const Rescued late = RescueFrom({"relu-is-nothing"}, StopCondition(nullptr, clock_, -1));
  EXPECT_THAT(late.ended, HasReason(Reason::kRunBudget));
  EXPECT_THAT(late.refused, SizeIs(1));
}

}  // namespace
}  // namespace quotient::optimize
