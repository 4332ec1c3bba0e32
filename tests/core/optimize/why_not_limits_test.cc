// Questions of Options::why_not for which there is no time or no memory, and that nothing but the
// answers depends on questions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/optimize/why_not.h"
#include "core/report/report.h"
#include "core/rules/family.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/core/optimize/optimize_fixture.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// How often the family of a test was asked for its rules or its words. The search of a job does so
// once, and its questions do so again before the first one is asked.
int num_built = 0;

bool QuestionsHaveBegun() { return num_built > 1; }

// No time passes, except that three seconds do if `jumps` when questions begin.
class JumpingClock : public Clock {
 public:
  int64_t NowNs() const override {
    return jumps && QuestionsHaveBegun() ? 4'000'000'000 : 1'000'000'000;
  }
  int64_t UnixMs() const override { return 0; }
  bool jumps = false;
};

// Applies at Relu. Memory runs out while it is applied to the e-graph of the search for a question.
class Greedy final : public egraph::Rule {
 public:
  explicit Greedy(domain::TensorDomain& domain, bool is_of_search)
      : relu_(domain.KindOfName("Relu")), is_of_search_(is_of_search) {}

  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return name_; }
  void Search(const egraph::EGraph& graph, egraph::MatchSink& sink) const override {
    for (const egraph::ENodeId node : graph.nodes_of_kind(relu_)) {
      if (!sink.Add({.classes = {graph.class_of(node)}})) return;
    }
  }
  absl::StatusOr<bool> Apply(egraph::EGraph& graph, const egraph::Match& match,
                             egraph::Origin origin) const override {
    if (!is_of_search_ || !QuestionsHaveBegun()) return false;
    const egraph::ENodeId relu = *graph.nodes(graph.Find(match.classes[0])).begin();
    EXPECT_OK(graph.Add(graph.node(relu).op, match.classes, origin).status());
    throw std::bad_alloc();
  }

 private:
  const std::string name_ = "clip-relu";
  const egraph::KindId relu_;
  const bool is_of_search_;
};

class WhyNotLimitsTest : public OptimizeTest {
 protected:
  WhyNotLimitsTest() { options_.strategy = "saturate"; }

  // Optimizes by all rules and by those of the family, which come first.
  absl::StatusOr<Result> RunWith(const rules::Family& own, const std::string& model) {
    num_built = 0;
    std::vector<rules::Family> families = {own};
    families.insert(families.end(), rules::AllFamilies().begin(), rules::AllFamilies().end());
    const Environment environment{.devices = &devices_, .clock = clock_};
    return OptimizeByRules(families, {.name = "m.onnx", .model = model}, options_, environment,
                           StopCondition(&token_), nullptr);
  }

  static std::vector<std::string> AnswersOf(const Result& result) {
    std::vector<std::string> answers;
    for (const report::WhyNot& answer : result.report.why_not) answers.push_back(answer.answer);
    return answers;
  }

  // Runs the job with questions, and without, and expects that only the answers differ.
  Result ExpectTheSameBut(const std::vector<std::string>& questions, const rules::Family& own,
                          const std::string& model) {
    options_.why_not.clear();
    absl::StatusOr<Result> without = RunWith(own, model);
    options_.why_not = questions;
    absl::StatusOr<Result> with = RunWith(own, model);
    EXPECT_OK(without.status());
    EXPECT_OK(with.status());
    if (!without.ok() || !with.ok()) return {};
    EXPECT_THAT(without->report.why_not, IsEmpty());
    EXPECT_EQ(with->files.model, without->files.model);
    EXPECT_EQ(with->files.external_data, without->files.external_data);
    report::Report unasked = with->report;
    unasked.why_not.clear();
    for (report::Report* const report : {&unasked, &without->report}) {
      report->phase_seconds.clear();
    }
    EXPECT_EQ(report::ToJson(unasked), report::ToJson(without->report));
    return *std::move(with);
  }

  JumpingClock clock_;
};

TEST_F(WhyNotLimitsTest, QuestionsChangeNothingElse) {
  const std::string model =
      testing::ModelAtOpset(13,
                            "g (float[64,512] x) => (float[64,512] y) { e = Erf(x) a = Abs(e) "
                            "t = Transpose(a) u = Transpose(t) h = HardSigmoid<alpha = 0.16666667, "
                            "beta = 0.5>(u) y = Mul(u, h) }")
          .SerializeAsString();
  const rules::Family dear{"dear", "clip-relu: Abs(?x) => Sqrt(Mul(?x, ?x))", nullptr, nullptr};
  options_.max_opset = 13;
  const std::vector<std::string> questions = {"hardswish@y", "clip-relu@a", "clip-relu@a",
                                              "transpose-transpose@u"};
  // Sorted, each once.
  EXPECT_THAT(AnswersOf(ExpectTheSameBut(questions, dear, model)),
              ElementsAre("not_chosen", "needs_option", "applied"));
  options_.max_nodes = 1;
  EXPECT_THAT(AnswersOf(ExpectTheSameBut(questions, dear, model)),
              ElementsAre("not_reached", "needs_option", "not_reached"));
}

TEST_F(WhyNotLimitsTest, NoTime) {
  const rules::Family slow{"slow", "", nullptr,
                           [](domain::TensorDomain*, rules::RuleList&) { ++num_built; }};
  clock_.jumps = true;
  const Result result =
      ExpectTheSameBut({"conv-batchnorm@no", "hardswish@relu_1"}, slow, Normalized());
  EXPECT_EQ(num_built, 2);
  EXPECT_THAT(AnswersOf(result), ElementsAre("no_time", "no_time"));
  EXPECT_THAT(result.report.why_not[1], AllOf(Field(&report::WhyNot::rule, "hardswish"),
                                              Field(&report::WhyNot::node, "relu_1")));
}

TEST_F(WhyNotLimitsTest, NoMemory) {
  const rules::Family greedy{"greedy", "", nullptr,
                             [](domain::TensorDomain* domain, rules::RuleList& rules) {
                               rules.push_back(std::make_unique<Greedy>(*domain, ++num_built == 1));
                             }};
  const std::string model =
      testing::ModelAtOpset(17,
                            "g (float[64,512] x) => (float[64,512] y) { r = Relu(x) "
                            "t = Transpose(r) u = Transpose(t) y = Softmax(u) }")
          .SerializeAsString();
  const Result result = ExpectTheSameBut({"clip-relu@r", "clip-relu@no"}, greedy, model);
  EXPECT_THAT(AnswersOf(result), ElementsAre("no_node", "no_memory"));
}

TEST_F(WhyNotLimitsTest, TheOriginalCannotBeLookedAtAgain) {
  const rules::Family forgetful{"forgetful", "clip-relu: Abs(?x) => ?x if known_once(?x)",
                                [](rules::Words& words) {
                                  if (++num_built > 1) return;
                                  words.Guard("known_once", "c", rules::Purpose::kCost,
                                              [](const auto&, const auto&) { return false; });
                                },
                                nullptr};
  const Result result = ExpectTheSameBut({"hardswish@relu_1"}, forgetful, Normalized());
  ASSERT_THAT(AnswersOf(result), ElementsAre("unanswered"));
  EXPECT_THAT(result.report.why_not[0].text, HasSubstr("known_once"));
}

}  // namespace
}  // namespace quotient::optimize
