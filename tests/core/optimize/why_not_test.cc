// Questions of Options::why_not, each with a model for which the answer is known.

#include "core/optimize/why_not.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/reason.h"
#include "core/rules/family.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/core/optimize/optimize_fixture.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using quotient::testing::HasReason;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kWeights[] =
    "<float[2,2,1,1] w = {1, 2, 3, 4}, float[2] s = {1, 2}, float[2] t = {0.5, 0.25}, "
    "float[2] m = {0, 1}, float[2] v = {1, 2}>";

class WhyNotTest : public OptimizeTest {
 protected:
  WhyNotTest() { options_.strategy = "saturate"; }

  // The answer to one question about "g (...) => (...) {...}".
  report::WhyNot Ask(const std::string& question, const std::string& graph_text) {
    return AskOfFile(question, testing::ModelAtOpset(17, graph_text).SerializeAsString());
  }
  report::WhyNot AskOfFile(const std::string& question, const std::string& bytes) {
    options_.why_not = {question};
    absl::StatusOr<Result> result = Run(bytes);
    EXPECT_OK(result.status());
    if (!result.ok() || result->report.why_not.size() != 1) return {};
    result_ = *std::move(result);
    return result_.report.why_not.front();
  }

  static std::string Normalized(const std::string& nodes, const std::string& inputs = "") {
    return absl::StrCat("g (float[1,2,8,8] x", inputs, ") => (float[1,2,8,8] y) ", kWeights, " { ",
                        nodes, " }");
  }
  // The rules of a test. A question must ask for a rule that there is, so they borrow its name.
  void UseRule(const char* text) {
    own_ = {{"of the test", text, nullptr, nullptr}};
    families_ = own_;
  }

  std::vector<rules::Family> own_;
  Result result_;
};

TEST_F(WhyNotTest, TheResultUsesIt) {
  // Any node of the pattern may be asked about.
  for (const char* node : {"t", "u"}) {
    const report::WhyNot answer =
        Ask(absl::StrCat("transpose-transpose@", node),
            "g (float[64,512] x) => (float[64,512] y) { s = Softmax(x) t = Transpose(s) "
            "u = Transpose(t) y = Softmax(u) }");
    EXPECT_EQ(answer.answer, "applied") << node;
  }
}

// The merged Conv takes the place of the Concat, which the rule does not look at: another rule
// removes the Concat of the pieces. The Convs are gone all the same.
TEST_F(WhyNotTest, WhatItMadeIsUsedElsewhere) {
  for (const char* node : {"a", "b", "y"}) {
    const report::WhyNot answer =
        Ask(absl::StrCat("conv-merge@", node),
            "g (float[1,2,24,24] x) => (float[1,4,24,24] y) "
            "<float[2,2,1,1] v = {4, 3, 2, 1}, float[2,2,1,1] w = {1, 2, 3, 4}> "
            "{ a = Conv(x, v) b = Conv(x, w) y = Concat<axis = 1>(a, b) }");
    EXPECT_EQ(answer.answer, "applied") << node << ": " << answer.text;
  }
}

// The rule is used at `a`, and was applied at `o`, where it does not pay: what it made there reads
// what it made at `a`, which does not count.
TEST_F(WhyNotTest, WhatItMadeOfAnOperandIsNotUsedAtTheNode) {
  UseRule(
      "clip-relu: Abs(Transpose[?p](?x)) => Transpose[?p](Abs(?x))\n"
      "cast-same: Transpose[?p](Transpose[?p](?x)) => ?x");
  const std::string model =
      "g (float[64,64,64] x) => (float[64,64,64] u, float[64,64,64] o) { s = Softmax(x) "
      "t = Transpose<perm = [0, 2, 1]>(s) a = Abs(t) u = Transpose<perm = [0, 2, 1]>(a) "
      "w = Transpose<perm = [1, 0, 2]>(u) o = Abs(w) }";
  EXPECT_EQ(Ask("clip-relu@a", model).answer, "applied");
  EXPECT_NE(Ask("clip-relu@o", model).answer, "applied");
}

TEST_F(WhyNotTest, NoGraphWithItIsPredictedToBeFaster) {
  const report::WhyNot answer =
      Ask("conv-batchnorm@c", Normalized("c = Conv(x, w) y = BatchNormalization(c, s, t, m, v)"));
  EXPECT_EQ(answer.answer, "not_taken");
  EXPECT_THAT(answer.details, Contains(HasSubstr("none is predicted to be faster")));
}

TEST_F(WhyNotTest, AnotherOperatorIsInBetween) {
  const report::WhyNot answer =
      Ask("conv-batchnorm@c",
          Normalized("c = Conv(x, w) r = Relu(c) y = BatchNormalization(r, s, t, m, v)"));
  EXPECT_EQ(answer.answer, "no_match");
  EXPECT_THAT(answer.details, Contains("found Conv[?c](?x, ?w, ?b...) at Conv 'c'"));
  EXPECT_THAT(answer.details,
              Contains(AllOf(HasSubstr("expected BatchNormalization[?n](Conv"),
                             HasSubstr("to read 'c' as operand 1, but 'c' is read by Relu 'r'"))));
}

TEST_F(WhyNotTest, TheNodeIsOfAnotherOperator) {
  const report::WhyNot answer = Ask("conv-batchnorm@y", Normalized("c = Conv(x, w) y = Relu(c)"));
  EXPECT_EQ(answer.answer, "no_match");
  EXPECT_THAT(answer.details, Contains(AllOf(HasSubstr("BatchNormalization[?n](Conv"),
                                             HasSubstr("but the node is Relu 'y'"))));
}

TEST_F(WhyNotTest, AGuardRefuses) {
  const report::WhyNot answer = Ask(
      "conv-batchnorm@c",
      Normalized("c = Conv(x, w) y = BatchNormalization(c, scale, t, m, v)", ", float[2] scale"));
  EXPECT_EQ(answer.answer, "refused");
  EXPECT_THAT(answer.details, Contains("weight(?s) does not hold: ?s is 'scale': float32[2], an "
                                       "input"));
}

TEST_F(WhyNotTest, TheRuleIsDisabled) {
  options_.disabled_rules = {"conv-batchnorm"};
  const report::WhyNot answer =
      Ask("conv-batchnorm@c", Normalized("c = Conv(x, w) y = BatchNormalization(c, s, t, m, v)"));
  EXPECT_EQ(answer.answer, "disabled");
  EXPECT_THAT(answer.details, Contains("it would match in the original graph"));
}

TEST_F(WhyNotTest, ThereIsNoSuchNode) {
  const report::WhyNot answer =
      Ask("conv-batchnorm@conv_2", Normalized("conv_1 = Conv(x, w) y = Relu(conv_1)"));
  EXPECT_EQ(answer.answer, "no_node");
  EXPECT_THAT(answer.text, HasSubstr("'conv_2', but 'conv_1'"));
  EXPECT_THAT(Ask("conv-batchnorm@x", Normalized("y = Conv(x, w)")).text,
              HasSubstr("'x' is an input of the model, and no node"));
}

TEST_F(WhyNotTest, TheNodeWasRemovedBeforeTheSearch) {
  const std::string model = Normalized(
      "k = Exp(w) i = Identity(x) dead = Relu(x) c = Conv(i, k) "
      "y = BatchNormalization(c, s, t, m, v)");
  EXPECT_THAT(Ask("conv-batchnorm@k", model).text, HasSubstr("its result is constant"));
  EXPECT_THAT(Ask("conv-batchnorm@i", model).text, HasSubstr("its result is 'x' itself"));
  const report::WhyNot dead = Ask("conv-batchnorm@dead", model);
  EXPECT_EQ(dead.answer, "removed");
  EXPECT_EQ(dead.text, "no output of the model depends on it");
}

TEST_F(WhyNotTest, TheNodeIsADuplicate) {
  const report::WhyNot answer =
      Ask("conv-batchnorm@twin",
          Normalized("first = Relu(x) twin = Relu(x) c = Add(first, twin) y = Conv(c, w)"));
  EXPECT_EQ(answer.answer, "no_match");
  EXPECT_THAT(answer.details, Contains(HasSubstr("computes the same as 'first'")));
}

TEST_F(WhyNotTest, ANewerOpsetIsNeeded) {
  const std::string model =
      testing::ModelAtOpset(13,
                            "g (float[4] x) => (float[4] y) { h = HardSigmoid<alpha = "
                            "0.16666667, beta = 0.5>(x) y = Mul(x, h) }")
          .SerializeAsString();
  options_.max_opset = 13;
  const report::WhyNot answer = AskOfFile("hardswish@y", model);
  EXPECT_EQ(answer.answer, "needs_option");
  EXPECT_THAT(answer.text, AllOf(HasSubstr("HardSwish, which needs opset 14"),
                                 HasSubstr("opset 13 at most (--max-opset)")));
  options_.max_opset = 14;
  EXPECT_EQ(AskOfFile("hardswish@y", model).answer, "not_taken");
}

TEST_F(WhyNotTest, AllThatIsTooNewIsNamed) {
  UseRule("clip-relu: Abs(?x) => Mish(HardSwish(?x))");
  options_.max_opset = 13;
  const report::WhyNot answer = AskOfFile(
      "clip-relu@y", testing::ModelAtOpset(13, "g (float[4] x) => (float[4] y) { y = Abs(x) }")
                         .SerializeAsString());
  EXPECT_EQ(answer.answer, "needs_option");
  EXPECT_THAT(answer.text, HasSubstr("HardSwish, which needs opset 14 and Mish, which needs "
                                     "opset 18; the result may need opset 13 at most"));
}

TEST_F(WhyNotTest, InputsMayHoldNaN) {
  const report::WhyNot answer = AskOfFile("nan-guard@y", GuardedSoftmax());
  EXPECT_EQ(answer.answer, "needs_option");
  EXPECT_THAT(answer.text, HasSubstr("--assume-finite-inputs"));
  EXPECT_THAT(answer.details, Contains(HasSubstr("never_nan(?x) does not hold")));
  options_.assume_finite_inputs = true;
  EXPECT_EQ(AskOfFile("nan-guard@y", GuardedSoftmax()).answer, "applied");
}

TEST_F(WhyNotTest, AppliedButDearer) {
  UseRule("clip-relu: Abs(?x) => Sqrt(Mul(?x, ?x))");
  const report::WhyNot answer =
      Ask("clip-relu@a",
          "g (float[64,512] x) => (float[64,512] y) { e = Erf(x) a = Abs(e) y = Erf(a) }");
  EXPECT_EQ(answer.answer, "not_chosen");
  ASSERT_TRUE(answer.with_us.has_value() && answer.without_us.has_value());
  EXPECT_GT(*answer.with_us, *answer.without_us);
  EXPECT_THAT(answer.details, Contains("the best graph has Abs 'a' for 'a'"));
  EXPECT_THAT(answer.details,
              Contains(AllOf(HasSubstr("only with it: "), HasSubstr("(made by clip-relu)"))));
  EXPECT_THAT(answer.details, Contains(HasSubstr("only in the best graph: ")));
}

TEST_F(WhyNotTest, TheSearchEndedBefore) {
  options_.max_nodes = 1;
  const report::WhyNot answer =
      Ask("conv-batchnorm@c", Normalized("c = Conv(x, w) y = BatchNormalization(c, s, t, m, v)"));
  EXPECT_EQ(answer.answer, "not_reached");
  EXPECT_THAT(answer.text, AllOf(HasSubstr("ended by node_limit"), HasSubstr("--max-nodes 1)")));
  ASSERT_TRUE(answer.with_us.has_value() && answer.without_us.has_value());
  EXPECT_LT(*answer.with_us, *answer.without_us);
}

TEST_F(WhyNotTest, CheckingRefusesIt) {
  UseRule("clip-relu: Softmax[?s](?x) => ?x");
  const report::WhyNot answer =
      Ask("clip-relu@a",
          "g (float[64,64] x) => (float[64,64] y) { e = Erf(x) a = Softmax(e) y = Transpose(a) }");
  EXPECT_EQ(answer.answer, "not_taken");
  EXPECT_THAT(answer.text, HasSubstr("the original was kept"));
  EXPECT_THAT(answer.details, Contains(HasSubstr("checking found that the rule is wrong")));
  EXPECT_THAT(answer.details, Contains(HasSubstr("a graph with it was refused: ")));
}

TEST_F(WhyNotTest, SiteRules) {
  const std::string model =
      "g (float[8,16] x) => (float[16,8] y) { r = Relu(x) y = Transpose<perm = [1, 0]>(r) }";
  const report::WhyNot elsewhere = Ask(
      "unary-of-move@y", "g (float[8,16] x) => (float[8,16] y) { s = Softmax(x) y = Softmax(s) }");
  EXPECT_EQ(elsewhere.answer, "no_match");
  EXPECT_THAT(elsewhere.text, HasSubstr("applies nowhere around this node"));
  EXPECT_THAT(elsewhere.details, Contains(HasSubstr("is a site rule")));
  // The two orders cost the same, so the original stays.
  EXPECT_EQ(Ask("move-of-unary@y", model).answer, "not_chosen");
  options_.max_nodes = 1;
  EXPECT_EQ(Ask("move-of-unary@y", model).answer, "not_reached");
}

TEST_F(WhyNotTest, NothingWasSearched) {
  const report::WhyNot answer =
      AskOfFile("conv-batchnorm@y",
                testing::ModelAtOpset(99, "g (float[4] x) => (float[4] y) { y = Relu(x) }")
                    .SerializeAsString());
  EXPECT_EQ(answer.answer, "not_searched");
  EXPECT_THAT(answer.text, HasSubstr("nothing was searched: "));
}

TEST_F(WhyNotTest, OnlyScalarConstantsAreShown) {
  UseRule("clip-relu: Add(?x, ?c) => ?x if is(?c, 7)");
  const auto ask = [&](const std::string& constant) {
    return Ask("clip-relu@y", absl::StrCat("g (float[4,2] x) => (float[4,2] y) <", constant,
                                           "> { y = Add(x, c) }"))
        .details;
  };
  EXPECT_THAT(ask("float c = {0.5}"), Contains(HasSubstr("?c is 'c': float32[], constant 0.5")));
  const std::vector<std::string> of_weights = ask("float[2] c = {0.5, 0.25}");
  EXPECT_THAT(of_weights, Contains(HasSubstr("?c is 'c': float32[2], constant")));
  EXPECT_THAT(of_weights, Not(Contains(HasSubstr("0.25"))));
}

TEST(QuestionTest, WhatIsNoQuestionIsRefused) {
  EXPECT_OK(CheckQuestions({"conv-batchnorm@a@b"}));
  EXPECT_EQ(ParseQuestion("conv-batchnorm@a@b")->node, "a@b");
  for (const char* text : {"", "conv-batchnorm", "@node", "conv-batchnorm@"}) {
    EXPECT_THAT(CheckQuestions({text}), HasReason(Reason::kOptionInvalid)) << text;
  }
  EXPECT_THAT(std::string(CheckQuestions({"conv-batchnrm@n"}).message()),
              HasSubstr("no rule is called 'conv-batchnrm', but 'conv-batchnorm'"));
  EXPECT_THAT(CheckQuestions(std::vector<std::string>(kMostQuestions + 1, "relu@n")),
              HasReason(Reason::kOptionInvalid));
}

TEST(QuestionTest, NearNames) {
  const std::vector<std::string> names = {"Conv_12", "Conv_13", "/block/Conv_1", "Relu", "conv_1"};
  EXPECT_EQ(absl::StrJoin(NearNames("Conv_1", names), " "), "conv_1 Conv_12 Conv_13");
  EXPECT_EQ(absl::StrJoin(NearNames("block", names), " "), "/block/Conv_1");
  // The nearest three, wherever they are, each once.
  EXPECT_EQ(absl::StrJoin(NearNames("node", {"knives", "knode", "modes", "nodes", "node_1", "mode",
                                             "node", "mode"}),
                          " "),
            "node knode mode");
  CancelToken token;
  token.Cancel();
  EXPECT_THAT(NearNames("Conv_1", names, StopCondition(&token)), IsEmpty());
  EXPECT_THAT(NearNames("something else", names), IsEmpty());
}

}  // namespace
}  // namespace quotient::optimize
