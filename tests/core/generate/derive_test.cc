#include "core/generate/derive.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/generate/small_universe.h"
#include "tests/support/status_matchers.h"

namespace quotient::generate {
namespace {

class DeriveTest : public ::testing::Test {
 protected:
  std::unique_ptr<Deriver> NewDeriver(bool with_rules, const std::vector<std::string>& without) {
    auto deriver = Deriver::Create(&terms_, with_rules, without);
    EXPECT_OK(deriver.status());
    return *std::move(deriver);
  }
  bool Derives(Deriver& deriver, const std::string& left, const std::string& right) {
    const auto derives = deriver.Derives(terms_.Parse(left).value(), terms_.Parse(right).value());
    EXPECT_OK(derives.status());
    return derives.value_or(false);
  }

  const Universe universe_ = SmallUniverse();
  Terms terms_{&universe_};
};

TEST_F(DeriveTest, UsesThePresentRules) {
  const auto deriver = NewDeriver(true, {});
  EXPECT_TRUE(Derives(*deriver, "Relu(Neg(Neg(x)))", "Relu(x)"));
  EXPECT_TRUE(Derives(*deriver, "Concat[axis=0](Relu(x), Relu(y))", "Relu(Concat[axis=0](x, y))"));
  EXPECT_FALSE(Derives(*deriver, "Relu(x)", "Relu(y)"));
  EXPECT_FALSE(Derives(*deriver, "Relu(x)", "x"));
}

TEST_F(DeriveTest, KnowsNothingOfWhatIsLeftOut) {
  EXPECT_FALSE(Derives(*NewDeriver(true, {{"neg-neg"}}), "Neg(Neg(x))", "x"));
  EXPECT_FALSE(Derives(*NewDeriver(false, {}), "Neg(Neg(x))", "x"));
}

TEST_F(DeriveTest, ADerivationLeavesNothingBehind) {
  const auto deriver = NewDeriver(true, {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Derives(*deriver, "Neg(Neg(x))", "x"));
    EXPECT_FALSE(Derives(*deriver, "Neg(x)", "x"));
  }
}

TEST_F(DeriveTest, TakesMoreRulesAndLeavesThemOut) {
  const auto deriver = NewDeriver(false, {});
  const int group = deriver->num_groups();
  ASSERT_OK(deriver->AddRules("a: Relu(Neg(?x)) => Neg(?x)\nb: Neg(?x) => ?x"));
  EXPECT_TRUE(Derives(*deriver, "Relu(Neg(x))", "x"));
  deriver->SetUsed(group, false);
  EXPECT_FALSE(Derives(*deriver, "Relu(Neg(x))", "x"));
  deriver->SetUsed(group, true);
  EXPECT_TRUE(Derives(*deriver, "Relu(Neg(x))", "x"));
  EXPECT_FALSE(deriver->AddRules("Relu(?x) => Nothing(?x)").ok());
}

}  // namespace
}  // namespace quotient::generate
