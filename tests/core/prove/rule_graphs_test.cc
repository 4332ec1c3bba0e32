// Graphs that are drawn for a rule without cases: the rule matches in them, and they refute what is
// wrong.

#include "tests/core/prove/rule_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/model/graph.h"
#include "core/rules/rule_set.h"
#include "tests/support/status_matchers.h"

namespace quotient::prove {
namespace {

using ::testing::HasSubstr;

FileRule RuleOf(const std::string& text) {
  const auto rules = ParseRuleFile(text, "test");
  EXPECT_OK(rules.status());
  return rules.ok() ? rules->front() : FileRule();
}

// Draws until it has so many graphs.
std::vector<model::Graph> Drawn(const std::string& text, size_t count) {
  const FileRule rule = RuleOf(text);
  Rng rng(1);
  std::vector<model::Graph> graphs;
  for (int i = 0; i < 10000 && graphs.size() < count; ++i) {
    if (auto graph = DrawLeft(rule.alternatives[0], AttributesIn({}), rng)) {
      graphs.push_back(*std::move(graph));
    }
  }
  EXPECT_EQ(graphs.size(), count) << text;
  return graphs;
}

TEST(DrawLeft, MakesTheLeftSide) {
  for (const model::Graph& graph :
       Drawn("a: Sub(Transpose[?p](?x), Transpose[?p](?y)) => ?x", 20)) {
    ASSERT_EQ(graph.nodes.size(), 3u);
    EXPECT_EQ(graph.nodes[0].op, "Transpose");
    const auto rank_of_operand = [&](size_t node) {
      return graph.value(graph.nodes[node].inputs[0]).type.rank();
    };
    // Of equal ranks, as the usual permutation depends on the rank.
    if (rank_of_operand(0) == rank_of_operand(1)) {
      EXPECT_EQ(graph.nodes[0].attributes, graph.nodes[1].attributes) << "one word";
    }
    EXPECT_EQ(graph.nodes[2].op, "Sub");
    EXPECT_EQ(graph.outputs.size(), 1u);
    EXPECT_OK(model::Validate(graph));
  }
}

TEST(DrawLeft, DrawsManyForms) {
  std::set<std::string> types;
  for (const model::Graph& graph : Drawn("a: Neg(?x) => ?x", 60)) {
    types.insert(ToString(graph.values[graph.nodes[0].inputs[0].value()].type));
  }
  EXPECT_GE(types.size(), 20u);
  std::set<size_t> operands;
  for (const model::Graph& graph : Drawn("a: Concat[?c](?x, ?xs...) => ?x", 60)) {
    operands.insert(graph.nodes[0].inputs.size());
  }
  EXPECT_GE(operands.size(), 3u);
}

TEST(DrawLeft, RootsMayShareAndNameValues) {
  const auto two = Drawn("a: Relu(?y), ?y = Neg(?x) => Relu(?y), Neg(?x)", 5);
  EXPECT_EQ(two[0].nodes[0].op, "Neg") << "the value that the other one reads";
  EXPECT_EQ(two[0].nodes[1].inputs[0], two[0].nodes[0].outputs[0]);
  Rng rng(1);
  const FileRule equated = RuleOf("a: Neg(?x) = Abs(?x) => ?x");
  EXPECT_FALSE(DrawLeft(equated.alternatives[0], {}, rng).has_value());
}

TEST(DrawLeft, GuardsAreHints) {
  int constants = 0;
  const auto graphs = Drawn("a: Mul(?x, ?c) => ?x if is(?c, 0.25)", 100);
  for (const model::Graph& graph : graphs) {
    const model::Value& value = graph.value(graph.nodes[0].inputs[1]);
    constants +=
        value.constant && value.constant->elements() > 0 && value.constant->GetDouble(0) == 0.25;
  }
  EXPECT_GE(constants, 50);
}

Certificate CertificateOf(const std::string& text) {
  static const RuleGraphs& all = *new RuleGraphs;
  const FileRule rule = RuleOf(text);
  const auto graphs = all.Of(rule, /*seed=*/0);
  EXPECT_OK(graphs.status());
  if (!graphs.ok()) return {};
  const auto certificate =
      Certify(MakerOf(rule), *graphs, {.instances = 20, .variations = 20, .symbolic = 10});
  EXPECT_OK(certificate.status());
  return certificate.value_or(Certificate());
}

TEST(RuleGraphs, RightRulesAreCertified) {
  const Certificate where = CertificateOf("a: Where(?c, ?x, ?x) => ?x if same(?c, ?x)");
  EXPECT_EQ(where.tier, Tier::kExact) << WhyNotHigher(where) << "only bools have the type of ?c";
  const Certificate chain =
      CertificateOf("a: Relu(Transpose[?p](Relu(?x))) => Transpose[?p](Relu(?x))");
  EXPECT_EQ(chain.tier, Tier::kExactForAnyFunction) << WhyNotHigher(chain);
  EXPECT_GE(chain.instances, 20);
  EXPECT_GE(chain.symbolic, 5);
}

TEST(RuleGraphs, WrongRulesAreRefuted) {
  for (const char* text :
       {"a: Sub(?x, ?y) => Sub(?y, ?x)", "a: MatMul(?x, ?y) => MatMul(?y, ?x)",
        "a: Transpose[?p](Transpose[?q](?x)) => ?x", "a: Concat[?c](?x, ?y) => Concat[?c](?y, ?x)",
        "a: Mul(Conv[?c](?x, ?w), ?s) => Conv[?c](Mul(?x, ?s), ?w)",
        "a: Softmax[?a](Mul(?x, ?c)) => Mul(Softmax[?a](?x), ?c) if is(?c, 2)"}) {
    EXPECT_EQ(CertificateOf(text).tier, Tier::kRefuted) << text;
  }
}

TEST(RuleGraphs, AGuardThatRefusesEverythingIsNamed) {
  const Certificate certificate =
      CertificateOf("a: Neg(?x) => ?x if has_rank(?x, 1) and has_rank(?x, 2)");
  EXPECT_EQ(certificate.tier, Tier::kNotApplied);
  EXPECT_THAT(WhyNotHigher(certificate), HasSubstr("guards refuse its left side in "));
}

// Without the attributes that operators have in their cases.
TEST(DrawLeft, DrawsTheLeftSidesOfMostOfOurOwnRules) {
  int patterns = 0;
  std::vector<std::string> without;
  Rng rng(2);
  const AttributeChoices choices = AttributesIn({});
  for (const rules::Family& family : rules::AllFamilies()) {
    const auto rules = ParseRuleFile(family.text, family.name);
    if (!rules.ok()) continue;
    for (const FileRule& rule : *rules) {
      ++patterns;
      bool is_drawn = false;
      for (int i = 0; i < 3000 && !is_drawn; ++i) {
        is_drawn = DrawLeft(rule.alternatives[0], choices, rng).has_value();
      }
      if (!is_drawn) without.push_back(rule.name);
    }
  }
  EXPECT_GE(patterns, 150);
  EXPECT_LE(without.size() * 10, static_cast<size_t>(patterns)) << absl::StrJoin(without, " ");
}

}  // namespace
}  // namespace quotient::prove
