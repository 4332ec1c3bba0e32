#include "core/generate/taso.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/eval/evaluator.h"
#include "core/generate/derive.h"
#include "core/generate/terms.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

// Sides as outputs of one graph, for random inputs.
double LargestDifference(const Terms& terms, TermId left, TermId right) {
  const TermId sides[] = {left, right};
  const auto graph = terms.ToGraph(sides, terms.Small());
  Rng rng(1);
  eval::ValueMap inputs;
  for (const model::ValueId input : graph->inputs) {
    const model::TensorType& type = graph->value(input).type;
    std::vector<float> elements(static_cast<size_t>(type.elements()));
    for (float& each : elements) each = static_cast<float>(rng.Uniform(-1, 1));
    inputs.emplace(input, model::Tensor::Floats(type.dims(), std::span<const float>(elements)));
  }
  const auto outputs = eval::Evaluate(*graph, inputs, graph->outputs, 1).value();
  const model::Tensor& one = outputs.at(graph->outputs[0]);
  const model::Tensor& other = outputs.at(graph->outputs[1]);
  if (one.dims() != other.dims()) return INFINITY;
  double difference = 0;
  for (int64_t i = 0; i < one.elements(); ++i) {
    difference = std::max(difference, std::abs(one.GetDouble(i) - other.GetDouble(i)));
  }
  return difference;
}

TEST(Taso, ItsRulesAreEquations) {
  size_t num_rules = 0;
  for (const char* name : {"taso-rules-matrices", "taso-rules-images"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Universe> universes, UniversesNamed(name));
    Terms terms(&universes[0]);
    for (const TasoRule& rule : TasoRules(name)) {
      SCOPED_TRACE(rule.name);
      ASSERT_OK_AND_ASSIGN(const TermId left, terms.Parse(rule.left));
      ASSERT_OK_AND_ASSIGN(const TermId right, terms.Parse(rule.right));
      EXPECT_NE(left, right);
      EXPECT_LT(LargestDifference(terms, left, right), 1e-4);
      ++num_rules;
    }
  }
  EXPECT_EQ(num_rules, 100u);
  EXPECT_TRUE(TasoRules("slices").empty());
}

TEST(Taso, ItsAxiomsDeriveItsRules) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Universe> universes,
                       UniversesNamed("taso-rules-matrices"));
  Terms terms(&universes[0]);
  ASSERT_OK_AND_ASSIGN(const auto deriver, Deriver::Create(&terms, /*with_rules=*/false, {}));
  ASSERT_OK(deriver->AddRules(TasoAxioms()));
  for (const TasoRule& rule : TasoRules("taso-rules-matrices")) {
    if (rule.name.starts_with("multi")) continue;  // These need what a Slice is.
    ASSERT_OK_AND_ASSIGN(
        const bool derived,
        deriver->Derives(terms.Parse(rule.left).value(), terms.Parse(rule.right).value(),
                         {.iterations = 6, .enodes = 4000, .matches = 1000}));
    EXPECT_TRUE(derived) << rule.name;
  }
}

}  // namespace
}  // namespace quotient::generate
