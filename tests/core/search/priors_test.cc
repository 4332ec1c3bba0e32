#include "core/search/priors.h"

#include <gtest/gtest.h>

namespace quotient::search {
namespace {

constexpr Action kFirst = {Action::Kind::kRule, 0};
constexpr Action kSecond = {Action::Kind::kRule, 1};

TEST(Priors, ComeToExpectWhatActionsBring) {
  Priors priors(2, 0);
  EXPECT_NEAR(priors.Expect(kFirst), priors.Expect(kSecond), 0.006);
  for (int i = 0; i < 10; ++i) priors.Learn(kFirst, 0.2);
  for (int i = 0; i < 10; ++i) priors.Learn(kSecond, 0);
  EXPECT_GT(priors.Expect(kFirst), 0.15);
  EXPECT_LT(priors.Expect(kFirst), 0.3);
  EXPECT_LT(priors.Expect(kSecond), 0.01);
  EXPECT_GT(priors.Expect(kSecond), 0);
}

TEST(Priors, DependOnTheSeedAndChangeWhenShaken) {
  Priors priors(1, 1);
  const double before = priors.Expect(kFirst);
  EXPECT_EQ(Priors(1, 1).Expect(kFirst), before);
  EXPECT_NE(Priors(1, 2).Expect(kFirst), before);
  priors.DrawFactors();
  EXPECT_NE(priors.Expect(kFirst), before);
}

}  // namespace
}  // namespace quotient::search
