// For every rule of the table a graph that it rewrites, soundly, and one that its guards refuse.

#include "tests/core/rules/rule_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/infer_graph.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::rules {
namespace {

using domain::TensorEGraph;

std::vector<std::string> AllBut(absl::string_view name) {
  std::vector<std::string> others = RuleNames();
  std::erase(others, std::string(name));
  return others;
}

TensorEGraph Import(const model::Graph& graph) {
  auto tensors = domain::FromGraph(graph, Measured(graph));
  EXPECT_THAT(tensors, testing::IsOk());
  return *std::move(tensors);
}

// Wide values cancel more than those of one size, and beside the largest that counts for little.
constexpr double kWideTolerance = 1e-3;

class RuleCaseTest : public ::testing::TestWithParam<RuleCase> {};

TEST_P(RuleCaseTest, FiresAndIsSound) {
  const RuleCase& test = GetParam();
  const model::Graph graph = ParseStatic(test.fires);
  TensorEGraph tensors = Import(graph);
  ASSERT_OK_AND_ASSIGN(const RuleSet set,
                       BuildRules(tensors.domain.get(), kNewestOpset, AllBut(test.rule)));
  ASSERT_EQ(set.rules().size(), 1);
  const auto changes = Grow(tensors, set.rules(), 3);
  EXPECT_TRUE(changes.contains(std::string(test.rule))) << "did not fire";
  EXPECT_EQ(tensors.domain->refused_unions(), 0);

  const model::Graph measured = Measured(graph);
  const eval::ValueMap inputs = RandomInputs(measured, 1);
  const Verdict verdict = CheckSoundness(tensors, inputs);
  EXPECT_EQ(verdict.error, "");
  EXPECT_GT(verdict.checked, 0);
  EXPECT_EQ(CheckSoundness(tensors, RandomInputs(measured, 2, Values::kWide), kWideTolerance).error,
            "");
  // Something of the original's values is computed another way, or is another value now.
  EXPECT_TRUE(ChangesOriginalClass(tensors)) << "no equation reached the original";

  ASSERT_OK_AND_ASSIGN(const model::Graph rewritten,
                       domain::ToGraph(tensors, ChooseNew(tensors), set.rules()));
  ASSERT_OK_AND_ASSIGN(const eval::ValueMap before,
                       eval::Evaluate(graph, inputs, graph.outputs, 1));
  eval::ValueMap renamed;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    renamed.emplace(rewritten.inputs[i], inputs.at(graph.inputs[i]));
  }
  ASSERT_OK_AND_ASSIGN(const eval::ValueMap after,
                       eval::Evaluate(rewritten, renamed, rewritten.outputs, 1));
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    EXPECT_EQ(rewritten.value(rewritten.outputs[i]).name, graph.value(graph.outputs[i]).name);
    EXPECT_LE(RelativeError(before.at(graph.outputs[i]), after.at(rewritten.outputs[i])), 1e-4);
  }
}

TEST_P(RuleCaseTest, GuardRefuses) {
  const RuleCase& test = GetParam();
  const model::Graph graph = ParseStatic(test.refused);
  TensorEGraph tensors = Import(graph);
  ASSERT_OK_AND_ASSIGN(const RuleSet set,
                       BuildRules(tensors.domain.get(), kNewestOpset, AllBut(test.rule)));
  Grow(tensors, set.rules(), 3);
  EXPECT_FALSE(ChangesOriginalClass(tensors));
  EXPECT_EQ(tensors.domain->refused_unions(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, RuleCaseTest, ::testing::ValuesIn(RuleCases()), [](const auto& info) {
  std::string name = info.param.rule + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// These graphs, which end in z, have symbols.
bool Changes(absl::string_view rule, absl::string_view text) {
  model::Graph graph = testing::MustParse(absl::StrCat("graph g {", text, " output z }"));
  EXPECT_THAT(ops::InferTypes(graph), testing::IsOk());
  TensorEGraph tensors = Import(graph);
  const auto set = BuildRules(tensors.domain.get(), kNewestOpset, AllBut(rule));
  EXPECT_THAT(set, testing::IsOk());
  return Grow(tensors, set->rules(), 3).contains(std::string(rule));
}

// What the model concatenates has the sizes of its Convs, in which a stride hides one row.
TEST(RulesAtSymbols, OnlyWhatSurelyFitsIsConcatenated) {
  const auto changes = [](absl::string_view rule, absl::string_view x, absl::string_view y,
                          absl::string_view join) {
    return Changes(rule, absl::StrCat("input x: float32[", x, "] input y: float32[", y, "] ", R"(
        const w: float32[4,3,3,3] = random(1) const v: float32[4,3,3,3] = random(2)
        s = Conv(x, w) {pads=[1,1,1,1], strides=[2,2]}
        t = Conv(y, w) {pads=[1,1,1,1], strides=[2,2]}
        u = Conv(y, v) {pads=[1,1,1,1], strides=[2,2]}
        )",
                                      join));
  };
  constexpr char kRows[] = "z = Concat(s, t) {axis=0}", kChannels[] = "z = Concat(s, u) {axis=1}",
                 kSum[] = "z = Add(s, u)";
  for (const auto& [rule, join] :
       {std::pair("concat-of-rows", kRows), std::pair("concat-of-convs", kChannels),
        std::pair("conv-concat", kSum)}) {
    EXPECT_TRUE(changes(rule, "N,3,H,W", "N,3,H,W", join)) << rule;
    EXPECT_FALSE(changes(rule, "N,3,H,W", "N,3,K,W", join)) << rule;
  }
  EXPECT_TRUE(changes("concat-of-rows", "N,3,H,W", "M,3,H,W", kRows));
  EXPECT_FALSE(changes("concat-of-convs", "N,3,H,W", "M,3,H,W", kChannels));
  EXPECT_FALSE(changes("conv-concat", "N,3,8,8", "M,3,8,8", kSum)) << "an Add may broadcast";
}

// A pool runs even if its window is larger than its input, which a Conv does not.
TEST(RulesAtSymbols, AnAverageIsAConvIfItsWindowSurelyFits) {
  const auto changes = [](absl::string_view attributes) {
    return Changes("pool-average",
                   absl::StrCat("input x: float32[N,4,5,W] z = AveragePool(x) {", attributes, "}"));
  };
  EXPECT_TRUE(changes("kernel_shape=[3,1], pads=[0,0,0,1], count_include_pad=1"));
  EXPECT_FALSE(changes("kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1"));
}

// The shape to expand to is known by its symbol.
TEST(RulesAtSymbols, AnExpandToTheShapeOfTheOtherOperandGoes) {
  const auto changes = [](absl::string_view rule, absl::string_view sum) {
    return Changes(rule, absl::StrCat(R"(
        input x: float32[1,8] input y: float32[M,8] input other: float32[N,8]
        s = Shape(y) o = Shape(other) e = Expand(x, s) f = Expand(x, o)
        )",
                                      sum));
  };
  EXPECT_TRUE(changes("expand-binary", "z = Add(e, y)"));
  EXPECT_TRUE(changes("expand-binary", "z = Add(y, e)"));
  EXPECT_TRUE(changes("expand-multiply", "z = Mul(e, y)"));
  EXPECT_TRUE(changes("expand-multiply", "z = Mul(y, e)"));
  EXPECT_FALSE(changes("expand-binary", "z = Add(f, y)")) << "y may have one row, and z more";
  EXPECT_FALSE(changes("expand-multiply", "z = Mul(y, f)"));
}

TEST(RuleTable, EveryRuleHasACase) {
  std::set<std::string> tested;
  for (const RuleCase& test : RuleCases()) tested.insert(test.rule);
  for (const std::string& name : RuleNames()) {
    EXPECT_TRUE(tested.contains(name)) << name << " has no case";
    tested.erase(name);
  }
  EXPECT_THAT(tested, ::testing::IsEmpty()) << "cases of rules that do not exist";
}

TEST(RuleTable, NamesAreUniqueAndWellFormed) {
  std::set<std::string> seen;
  for (const std::string& name : RuleNames()) {
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_THAT(name, ::testing::MatchesRegex("[a-z0-9-]+"));
  }
  EXPECT_GT(seen.size(), 80);
}

TEST(RuleTable, UnknownDisabledNameIsRefused) {
  domain::TensorDomain domain;
  const std::vector<std::string> disabled = {"no-such-rule"};
  EXPECT_THAT(BuildRules(&domain, kNewestOpset, disabled),
              testing::HasReason(Reason::kOptionInvalid, ::testing::HasSubstr("no-such-rule")));
}

TEST(RuleTable, RespectsTheOpsetLimit) {
  for (const auto& [rule, opset] :
       {std::pair("gelu", 20), std::pair("hardswish", 14), std::pair("rmsnorm", 23),
        std::pair("swish", 24), std::pair("slice-shape", 15)}) {
    for (const int limit : {opset - 1, opset}) {
      const std::vector<RuleCase>& cases = RuleCases();
      const auto test =
          std::find_if(cases.begin(), cases.end(),
                       [&, &name = rule](const RuleCase& c) { return c.rule == name; });
      ASSERT_NE(test, cases.end());
      TensorEGraph tensors = Import(ParseStatic(test->fires));
      ASSERT_OK_AND_ASSIGN(const RuleSet set,
                           BuildRules(tensors.domain.get(), limit, AllBut(rule)));
      Grow(tensors, set.rules(), 2);
      EXPECT_EQ(ChangesOriginalClass(tensors), limit >= opset) << rule << " at " << limit;
    }
  }
}

// More than are merged into one: none is left out.
TEST(SharedInputTest, ManySiblingsAreMergedInSeveralGroups) {
  constexpr int kSiblings = 65;
  std::string text = "graph g {\n input x: float32[2,4]\n";
  std::string outputs;
  for (int i = 0; i < kSiblings; ++i) {
    absl::StrAppend(&text, "const w", i, ": float32[4,3] = random(", i, ")\n", "y", i,
                    " = MatMul(x, w", i, ")\n");
    absl::StrAppend(&outputs, i > 0 ? ", y" : "y", i);
  }
  absl::StrAppend(&text, "output ", outputs, "\n}\n");
  const model::Graph graph = ParseStatic(text);
  TensorEGraph tensors = Import(graph);
  ASSERT_OK_AND_ASSIGN(const RuleSet set,
                       BuildRules(tensors.domain.get(), kNewestOpset, AllBut("matmul-merge")));
  const std::vector<egraph::Match> matches = MatchesOf(tensors, *set.rules()[0]);
  EXPECT_EQ(matches.size(), 2);
  Grow(tensors, set.rules(), 1);
  EXPECT_EQ(CheckSoundness(tensors, RandomInputs(graph, 1)).error, "");
  for (const model::ValueId output : graph.outputs) {
    EXPECT_GT(tensors.egraph->nodes(tensors.class_of_value[output.value()]).size(), 1);
  }
}

}  // namespace
}  // namespace quotient::rules
