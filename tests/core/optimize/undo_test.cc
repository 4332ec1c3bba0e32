#include "core/optimize/undo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/core/optimize/grown_fixture.h"
#include "tests/core/pricing/scripted_model.h"

namespace quotient::optimize {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kRow[] = R"(
    input x: float32[4]
    a = Exp(x)
    b = Abs(a)
    c = Exp(b)
    d = Exp(c)
    output d)";
constexpr char kRules[] = R"(
# Exp(x) = Neg(x), which is wrong
exp-neg: Exp(?x) => Neg(?x)
# Abs(x) = Floor(x), which is wrong
abs-floor: Abs(?x) => Floor(?x)
# Abs(Exp(x)) = Ceil(x), which is wrong
abs-exp: Abs(Exp(?x)) => Ceil(?x)
)";

class UndoTest : public GrownTest {
 protected:
  void SetUp() override { Grow(kRow, kRules, &model_); }

  using Ops = std::vector<std::pair<std::string, std::string>>;

  // "rule: values" for each part that can be undone.
  std::vector<std::string> PartsOf(const Ops& op_of_value) const {
    std::vector<std::string> parts;
    for (const Undoable& part :
         FindUndoable(grown_->tensors(), grown_->rules(), SelectionWith(op_of_value),
                      OriginalSelection(grown_->graph()))) {
      parts.push_back(absl::StrCat(part.name, ": ", absl::StrJoin(NamesOf(part.classes), " ")));
    }
    return parts;
  }
  std::vector<std::string> NamesOf(const std::vector<egraph::ClassId>& classes) const {
    std::vector<std::string> names;
    for (const egraph::ClassId cls : classes) {
      for (const char* name : {"a", "b", "c", "d"}) {
        if (Class(name) == cls) names.push_back(name);
      }
    }
    return names;
  }

  // The operators of a, b, c and d where these values are computed as before; "-" for those that
  // are not needed.
  std::string Undone(const extract::Selection& chosen,
                     const std::vector<std::string>& values) const {
    std::vector<egraph::ClassId> classes;
    for (const std::string& value : values) classes.push_back(Class(value));
    const extract::Selection mixed = Undo(grown_->graph(), grown_->problem().roots, chosen,
                                          OriginalSelection(grown_->graph()), classes);
    EXPECT_EQ(mixed.choice.size(), chosen.choice.size());
    std::vector<std::string> ops;
    for (const char* value : {"a", "b", "c", "d"}) {
      const egraph::ENodeId node = mixed.of(Class(value));
      ops.push_back(node.valid() ? OpOf(node) : "-");
    }
    return absl::StrJoin(ops, " ");
  }

  pricing::ScriptedModel model_;
};

TEST_F(UndoTest, FewerThanTwoClassesAreNothingToDivide) {
  EXPECT_THAT(PartsOf({}), IsEmpty());
  EXPECT_THAT(PartsOf({{"b", "Floor"}}), IsEmpty());
}

TEST_F(UndoTest, RewritesGoByRuleInTheOrderOfTheGraph) {
  EXPECT_THAT(PartsOf({{"a", "Neg"}, {"b", "Floor"}}), ElementsAre("exp-neg: a", "abs-floor: b"));
  EXPECT_THAT(PartsOf({{"a", "Neg"}, {"b", "Floor"}, {"d", "Neg"}}),
              ElementsAre("exp-neg: a d", "abs-floor: b"));
}

// One rule made d and c, so they are one rewrite. Both are the original's values.
TEST_F(UndoTest, NeighborsThatOneRuleRewroteAreAllUndone) {
  EXPECT_THAT(PartsOf({{"b", "Floor"}, {"c", "Neg"}, {"d", "Neg"}}),
              ElementsAre("abs-floor: b", "exp-neg: d c"));
  EXPECT_THAT(PartsOf({{"c", "Neg"}, {"d", "Neg"}}),
              ElementsAre("exp-neg (first half): d", "exp-neg (second half): c"));
}

TEST_F(UndoTest, TheOnlyRuleIsHalved) {
  EXPECT_THAT(PartsOf({{"a", "Neg"}, {"d", "Neg"}}),
              ElementsAre("exp-neg (first half): a", "exp-neg (second half): d"));
}

TEST_F(UndoTest, WhatIsUndoneGoesBackAndTheRestStays) {
  const extract::Selection chosen = SelectionWith({{"a", "Neg"}, {"b", "Floor"}, {"d", "Neg"}});
  EXPECT_EQ(Undone(chosen, {}), "Neg Floor Exp Neg");
  EXPECT_EQ(Undone(chosen, {"a"}), "Exp Floor Exp Neg");
  EXPECT_EQ(Undone(chosen, {"b", "d"}), "Neg Abs Exp Exp");
  EXPECT_EQ(Undone(chosen, {"c"}), "Neg Floor Exp Neg") << "that was not rewritten";
}

// Ceil reads x, so a is not needed until b is undone. Then a is as it was in the original.
TEST_F(UndoTest, WhatIsNeededAgainComesBackAsItWas) {
  const extract::Selection chosen = SelectionWith({{"b", "Ceil"}});
  EXPECT_EQ(Undone(chosen, {}), "- Ceil Exp Exp");
  EXPECT_EQ(Undone(chosen, {"b"}), "Exp Abs Exp Exp");
}

TEST_F(UndoTest, WhatIsNoLongerNeededIsLeftOut) {
  extract::Selection chosen = SelectionWith({{"b", "Ceil"}, {"d", "Neg"}});
  chosen.choice[Class("a").value()] = ENode("a", "Neg");
  EXPECT_EQ(Undone(chosen, {}), "- Ceil Exp Neg");
  EXPECT_EQ(Undone(chosen, {"d"}), "- Ceil Exp Exp");
}

// Nothing computes what both selections lack. Checking the selection tells.
TEST_F(UndoTest, WhatNeitherHasStaysUnknown) {
  extract::Selection chosen = SelectionWith({});
  chosen.choice[Class("a").value()] = egraph::ENodeId();
  extract::Selection original = chosen;
  const extract::Selection mixed =
      Undo(grown_->graph(), grown_->problem().roots, chosen, original, {});
  EXPECT_FALSE(mixed.of(Class("a")).valid());
  EXPECT_FALSE(extract::CheckSelection(grown_->problem(), mixed).ok());
}

}  // namespace
}  // namespace quotient::optimize
