#include "core/generate/terms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/generate/small_universe.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

class TermsTest : public ::testing::Test {
 protected:
  TermId Term(const std::string& text) {
    const absl::StatusOr<TermId> id = terms_.Parse(text);
    EXPECT_OK(id.status());
    return id.value_or(TermId(0));
  }

  const Universe universe_ = SmallUniverse();
  Terms terms_{&universe_};
};

TEST_F(TermsTest, TextIsReadBack) {
  for (const char* text : {"x", "Concat[axis=1](x, Relu(y))", "MatMul(Add(x, y), w)",
                           "MaxPool[kernel_shape=[5,5], pads=[2,2,2,2]](i)"}) {
    EXPECT_EQ(terms_.Text(Term(text)), text);
  }
  EXPECT_EQ(Term("Relu(Add(x, y))"), Term("Relu(Add(y, x))")) << "Add is commutative";
  EXPECT_NE(Term("Concat[axis=0](x, y)"), Term("Concat[axis=0](y, x)"));
}

TEST_F(TermsTest, WhatTypesOrRolesForbidIsNoTerm) {
  for (const char* text : {"Add(x, i)", "MatMul(x, x)", "Concat[axis=7](x, y)", "Softmax(x)", "z",
                           "Relu(x, y)", "Relu("}) {
    EXPECT_FALSE(terms_.Parse(text).ok()) << text;
  }
}

TEST_F(TermsTest, ATermKnowsItsPartsOnce) {
  const TermId term = Term("Add(Relu(x), MatMul(Relu(x), w))");
  EXPECT_EQ(terms_.Size(term), 3);
  EXPECT_EQ(terms_.Parts(term).size(), 5u);
  EXPECT_EQ(terms_.VariablesOf(term), (std::vector<int>{0, 2}));
  EXPECT_EQ(terms_.dims(term), (Ints{2, 3}));
  EXPECT_FALSE(terms_.term(term).is_weight);
  EXPECT_TRUE(terms_.term(Term("Neg(w)")).is_weight);
}

TEST_F(TermsTest, VariablesAreRenamedEverywhere) {
  const std::vector<int> exchanged = {1, 0, 2, 3};
  EXPECT_EQ(terms_.Renamed(Term("Concat[axis=0](x, Relu(y))"), exchanged),
            Term("Concat[axis=0](y, Relu(x))"));
}

TEST_F(TermsTest, AnInstanceHasOtherShapes) {
  const TermId term = Term("Add(x, y)");
  Instance instance = terms_.Small();
  instance.dims[1] = {5, 1, 3};
  const auto graph = terms_.ToGraph(std::span(&term, 1), instance);
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->value(graph->outputs[0]).type.dims(), (Ints{5, 2, 3}));
  instance.dims[1] = {4, 3};
  EXPECT_FALSE(terms_.ToGraph(std::span(&term, 1), instance).has_value());
}

// Marks the operators that have a meaning for some of these terms, and returns the results.
std::vector<TermId> Applied(Terms& terms, const std::vector<TermId>& operands,
                            std::vector<bool>& is_used) {
  std::vector<TermId> results;
  for (size_t op = 0; op < is_used.size(); ++op) {
    for (const TermId a : operands) {
      for (const TermId b : operands) {
        const TermId both[] = {a, b};
        const auto count = static_cast<size_t>(terms.universe().operators[op].num_operands);
        const auto result = terms.Apply(static_cast<int>(op), std::span(both, count));
        if (!result) continue;
        is_used[op] = true;
        results.push_back(*result);
      }
    }
  }
  return results;
}

TEST(Universes, AllOperatorsAreUsed) {
  for (const std::string& name : UniverseNames()) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Universe> universes, UniversesNamed(name));
    ASSERT_EQ(universes.size(), 1u);
    Terms terms(&universes[0]);
    std::vector<TermId> variables;
    for (uint32_t i = 0; i < terms.size(); ++i) variables.push_back(TermId(i));
    std::vector<bool> is_used(terms.universe().operators.size(), false);
    // Some are for what was put together.
    for (const TermId result : Applied(terms, variables, is_used)) {
      Applied(terms, {result}, is_used);
    }
    for (size_t op = 0; op < is_used.size(); ++op) {
      const Operator& word = terms.universe().operators[op];
      EXPECT_TRUE(is_used[op]) << name << ": " << word.name << ToString(word.attributes);
    }
  }
  EXPECT_FALSE(UniversesNamed("none").ok());
  EXPECT_FALSE(UniversesNamed("").ok());
}

}  // namespace
}  // namespace quotient::generate
