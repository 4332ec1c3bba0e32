// Plans as text: which step finds what, and in which order.

#include "core/egraph/pattern_left.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/egraph/symbol_domain.h"
#include "tests/support/status_matchers.h"

namespace quotient::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LeftCompilerTest : public ::testing::Test {
 protected:
  LeftCompilerTest() {
    vocabulary_.guards["good"] = {"c", [](const EGraph&, std::span<const Binding>) { return true; },
                                  Guard::Otherwise::kNothing};
    vocabulary_.guards["distinct"] = {"cc",
                                      [](const EGraph&, std::span<const Binding>) { return true; },
                                      Guard::Otherwise::kNothing};
  }

  RuleText Parsed(absl::string_view rule) {
    absl::StatusOr<RuleText> text = ParseRuleText(rule);
    EXPECT_OK(text.status()) << rule;
    return text.ok() ? *std::move(text) : RuleText();
  }

  // The e-nodes and words of the left side, in the order of the text.
  static void AddAtoms(const Term& term, std::vector<const Term*>& atoms) {
    if (term.sort != Term::Sort::kVariable) atoms.push_back(&term);
    for (const Term& child : term.children) AddAtoms(child, atoms);
  }

  // The steps of the plan that finds all matches.
  std::vector<std::string> Steps(absl::string_view rule) {
    const RuleText text = Parsed(rule);
    LeftCompiler compiler(text, vocabulary_);
    EXPECT_OK(compiler.Compile()) << rule;
    return Lines(compiler.TakePlan());
  }
  // The steps of the delta that starts at this atom.
  std::vector<std::string> DeltaSteps(absl::string_view rule, size_t seed) {
    const RuleText text = Parsed(rule);
    std::vector<const Term*> atoms;
    for (const std::vector<Term>& equated : text.left) {
      for (const Term& term : equated) AddAtoms(term, atoms);
    }
    LeftCompiler compiler(text, vocabulary_);
    EXPECT_OK(compiler.CompileDelta(atoms, seed)) << rule;
    return Lines(compiler.TakePlan());
  }
  // The message of the error, which must be INVALID_ARGUMENT; "none" if there is none.
  static std::string MessageOf(const absl::Status& status) {
    if (status.ok()) return "none";
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
  std::string Error(absl::string_view rule) {
    const RuleText text = Parsed(rule);
    return MessageOf(LeftCompiler(text, vocabulary_).Compile());
  }
  absl::StatusOr<std::vector<CompiledGuard>> Guards(absl::string_view rule) {
    const RuleText text = Parsed(rule);
    LeftCompiler compiler(text, vocabulary_);
    EXPECT_OK(compiler.Compile());
    return compiler.CompileGuards();
  }

  // The leaves that are looked up beforehand, the steps, and the registers of the roots. "0 = f(1)"
  // says that an e-node f goes to register 0 and its child to register 1; "in 2" and "over 2.1"
  // say that it is looked for in the class of register 2, or among the uses of that class as second
  // child. "old" marks e-nodes that changed before the seed of a delta.
  std::vector<std::string> Lines(const Plan& plan) {
    std::vector<std::string> lines;
    for (const Plan::Leaf& leaf : plan.leaves) {
      lines.push_back(absl::StrCat(leaf.class_register, " = leaf ", table_.Name(leaf.op),
                                   leaf.earlier ? " old" : ""));
    }
    for (const Instruction& step : plan.code) lines.push_back(Line(step));
    lines.push_back(absl::StrCat("roots ", absl::StrJoin(plan.root_registers, " ")));
    return lines;
  }
  std::string Line(const Instruction& step) {
    using Code = Instruction::Code;
    switch (step.code) {
      case Code::kScan:
        return absl::StrCat(step.node_class, " = ", NodeText(step));
      case Code::kScanClasses:
        return absl::StrCat(step.node_class, " = any class");
      case Code::kDown:
        return absl::StrCat(NodeText(step), " in ", step.input);
      case Code::kUp:
        return absl::StrCat(step.node_class, " = ", NodeText(step), " over ", step.input, ".",
                            step.position);
      case Code::kSameClass:
        return absl::StrCat(step.input, " is ", step.other);
      case Code::kGuard:
        return absl::StrCat("guard ", step.guard);
    }
    return "";
  }
  std::string NodeText(const Instruction& step) {
    std::string text;
    if (step.op.valid()) {
      text = table_.Name(step.op);
    } else {
      for (const char* name : {"f", "g", "k", "p"}) {
        if (table_.KindOfName(name) == step.kind) text = name;
      }
    }
    if (step.op_variable != kNoIndex) {
      absl::StrAppend(&text, step.op_bound ? "[is " : "[sets ", step.op_variable, "]");
    }
    std::vector<std::string> children;
    for (uint32_t i = 0; i < step.num_children; ++i) {
      children.push_back(absl::StrCat(step.first_child + i));
    }
    if (step.list != kNoIndex) children.push_back(absl::StrCat("list ", step.list));
    return absl::StrCat(text, "(", absl::StrJoin(children, ","), ")", step.earlier ? " old" : "");
  }

  testing::SymbolTable table_;
  Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
};

TEST_F(LeftCompilerTest, ARootIsScannedAndMatchedDownwards) {
  EXPECT_THAT(Steps("f(?x) => ?x"), ElementsAre("1 = f(0)", "roots 1"));
  EXPECT_THAT(Steps("f(g(?x, ?y)) => ?x"), ElementsAre("1 = f(0)", "g(2,3) in 0", "roots 1"));
}

TEST_F(LeftCompilerTest, AVariableAloneIsAnyClass) {
  EXPECT_THAT(Steps("?x => f(?x)"), ElementsAre("0 = any class", "roots 0"));
}

// The comparison comes before the step into f, which may find many e-nodes.
TEST_F(LeftCompilerTest, ComparisonsComeBeforeStepsThatMultiplyCandidates) {
  EXPECT_THAT(Steps("k(f(?y), ?x, ?x) => ?x"),
              ElementsAre("3 = k(0,1,2)", "2 is 1", "f(4) in 0", "roots 3"));
  EXPECT_THAT(Steps("g(?x, f(?x)) => ?x"),
              ElementsAre("2 = g(0,1)", "f(3) in 1", "3 is 0", "roots 2"));
}

TEST_F(LeftCompilerTest, GuardsComeAsSoonAsTheirVariablesAreBound) {
  EXPECT_THAT(Steps("g(?x, f(?y)) => ?x if distinct(?x, ?y) and good(?x)"),
              ElementsAre("2 = g(0,1)", "guard 1", "f(3) in 1", "guard 0", "roots 2"));
}

TEST_F(LeftCompilerTest, ALeafIsLookedUpOnce) {
  EXPECT_THAT(Steps("g(one, g(?x, one)) => ?x"), ElementsAre("3 = leaf one", "2 = g(0,1)", "0 is 3",
                                                             "g(4,5) in 1", "5 is 3", "roots 2"));
  EXPECT_THAT(Steps("one => f(one)"), ElementsAre("0 = leaf one", "roots 0"));
}

TEST_F(LeftCompilerTest, WordsAndOperatorVariablesAreConditions) {
  EXPECT_THAT(Steps("p[1](?x) => ?x"), ElementsAre("1 = p[1](0)", "roots 1"));
  EXPECT_THAT(Steps("p[?o](p[?o](p[?q](?x))) => ?x"),
              ElementsAre("1 = p[sets 0](0)", "p[is 0](2) in 0", "p[sets 1](3) in 2", "roots 1"));
}

TEST_F(LeftCompilerTest, AListTakesTheRestOfTheChildren) {
  EXPECT_THAT(Steps("k(?x, ?rest...) => ?x"), ElementsAre("1 = k(0,list 0)", "roots 1"));
  EXPECT_THAT(Steps("g(k(?a...), k(?x, ?b...)) => ?x"),
              ElementsAre("2 = g(0,1)", "k(list 0) in 0", "k(3,list 1) in 1", "roots 2"));
}

TEST_F(LeftCompilerTest, FurtherRootsAreReachedFromWhatTheyShare) {
  EXPECT_THAT(Steps("g(?x, ?a), g(?x, ?b) => ?a, ?b"),
              ElementsAre("2 = g(0,1)", "5 = g(3,4) over 0.0", "roots 2 5"));
  EXPECT_THAT(Steps("f(?x), g(?y, f(?x)) => ?x, ?y"),
              ElementsAre("1 = f(0)", "3 = f(2) over 0.0", "6 = g(4,5) over 3.1", "roots 1 6"));
}

// The second root shares nothing with the first one, so the third one comes before it.
TEST_F(LeftCompilerTest, RootsWaitUntilTheyCanBeReached) {
  EXPECT_THAT(Steps("f(?x), f(?y), g(?x, ?y) => ?x, ?y, ?x"),
              ElementsAre("1 = f(0)", "4 = g(2,3) over 0.0", "6 = f(5) over 3.0", "roots 1 6 4"));
}

TEST_F(LeftCompilerTest, EquatedTermsAreMatchedInTheClassOfTheCheapestOne) {
  EXPECT_THAT(Steps("?y = f(?x) => ?y"), ElementsAre("1 = f(0)", "roots 1"));
  EXPECT_THAT(Steps("f(?x) = one => ?x"), ElementsAre("0 = leaf one", "f(1) in 0", "roots 0"));
  EXPECT_THAT(Steps("f(?x) = g(?x, ?y) => ?x"),
              ElementsAre("1 = f(0)", "g(2,3) in 1", "2 is 0", "roots 1"));
  EXPECT_THAT(Steps("f(?x), ?x = g(?y, ?z) => ?x, ?y"),
              ElementsAre("1 = f(0)", "g(2,3) in 0", "roots 1 0"));
}

TEST_F(LeftCompilerTest, ADeltaClimbsFromItsSeed) {
  const char kRule[] = "f(g(?x, f(?y))) => ?x";
  EXPECT_THAT(DeltaSteps(kRule, 0), ElementsAre("1 = f(0)", "g(2,3) in 0", "f(4) in 3", "roots 1"));
  EXPECT_THAT(DeltaSteps(kRule, 1),
              ElementsAre("2 = g(0,1)", "f(3) in 1", "5 = f(4) old over 2.0", "roots 5"));
  EXPECT_THAT(DeltaSteps(kRule, 2), ElementsAre("1 = f(0)", "4 = g(2,3) old over 1.1",
                                                "6 = f(5) old over 4.0", "roots 6"));
}

TEST_F(LeftCompilerTest, ADeltaOfAWordStartsAtItsClass) {
  const char kRule[] = "g(one, f(one)) => one";
  EXPECT_THAT(DeltaSteps(kRule, 1), ElementsAre("0 = one()", "3 = g(1,2) old over 0.0", "f(4) in 2",
                                                "4 is 0", "roots 3"));
  EXPECT_THAT(DeltaSteps(kRule, 0), ElementsAre("3 = leaf one", "2 = g(0,1)", "0 is 3", "f(4) in 1",
                                                "4 is 3", "roots 2"));
  EXPECT_THAT(DeltaSteps(kRule, 2), ElementsAre("2 = leaf one old", "1 = f(0)", "0 is 2",
                                                "5 = g(3,4) old over 1.1", "3 is 2", "roots 5"));
}

TEST_F(LeftCompilerTest, ADeltaMayStartAtALaterRoot) {
  EXPECT_THAT(DeltaSteps("f(?x), g(?x, ?y) => ?x, ?y", 1),
              ElementsAre("2 = g(0,1)", "4 = f(3) old over 0.0", "roots 4 2"));
  EXPECT_THAT(DeltaSteps("f(?x) = g(?y, ?z) => ?x", 1),
              ElementsAre("2 = g(0,1)", "f(3) old in 2", "roots 2"));
}

TEST_F(LeftCompilerTest, WhatMakesNoSenseIsRefused) {
  const struct {
    const char* rule;
    const char* message;
  } kCases[] = {
      {"f(?x), f(?y) => ?x, ?y", "shares no class variable"},
      {"f(?x), one => ?x, ?x", "shares no class variable"},
      {"f(p[h(?o)](?x)) => ?x", "h(..): operator words are built on the right only"},
      {"k(f(?x)...) => ?x", "k: on the left only a new variable can be a list"},
      {"k(?xs..., ?xs...) => one", "k: a list must come last"},
      {"g(k(?xs...), k(?xs...)) => one", "k: on the left only a new variable can be a list"},
      {"k(?x..., ?y) => ?y", "k: a list must come last"},
      {"p[?x](?x) => ?x", "?x"},
  };
  for (const auto& [rule, message] : kCases) {
    EXPECT_THAT(Error(rule), HasSubstr(message)) << rule;
  }
}

TEST_F(LeftCompilerTest, AWordThatTheVocabularyRefusesIsAnError) {
  vocabulary_.kind = [](absl::string_view name) -> absl::StatusOr<KindId> {
    return absl::InvalidArgumentError(absl::StrCat("no operator ", name));
  };
  EXPECT_THAT(Error("f(?x) => ?x"), HasSubstr("no operator f"));
}

TEST_F(LeftCompilerTest, GuardsGetTheVariablesThatThePlanBinds) {
  ASSERT_OK_AND_ASSIGN(const auto guards,
                       Guards("g(?x, f(?y)) => ?x if not distinct(?y, ?x) and good(?y)"));
  ASSERT_EQ(guards.size(), 2u);
  EXPECT_TRUE(guards[0].negated);
  ASSERT_EQ(guards[0].arguments.size(), 2u);
  EXPECT_EQ(guards[0].arguments[0].variable, 1u);
  EXPECT_EQ(guards[0].arguments[1].variable, 0u);
  EXPECT_FALSE(guards[1].negated);
  ASSERT_EQ(guards[1].arguments.size(), 1u);
  EXPECT_EQ(guards[1].arguments[0].variable, 1u);
}

TEST_F(LeftCompilerTest, GuardsThatAreUnknownOrGetOtherArgumentsAreRefused) {
  const struct {
    const char* rule;
    const char* message;
  } kCases[] = {
      {"f(?x) => ?x if better(?x)", "unknown guard better"},
      {"f(?x) => ?x if good(?x, ?x)", "guard good: "},
      {"f(?x) => ?x if good(?z)", "guard good: "},
      {"p[?o](?x) => ?x if good(?o)", "guard good: "},
  };
  for (const auto& [rule, message] : kCases) {
    EXPECT_THAT(MessageOf(Guards(rule).status()), HasSubstr(message)) << rule;
  }
}

}  // namespace
}  // namespace quotient::egraph
