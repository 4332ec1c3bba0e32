#include "core/report/gain_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace quotient::report {
namespace {

RegionGain At(std::vector<std::string> sites) {
  return {.before = {}, .after = {}, .sites = sites};
}

TEST(GainTextTest, RulesAreNamedUpToALimitAndPlacesAreAdded) {
  const RuleGain gain = {.rules = {"a", "b", "c"}, .regions = {At({"x", "y"}), At({"z"})}};
  EXPECT_EQ(RulesText(gain, 1), "a and 2 more: 3 places");
  EXPECT_EQ(RulesText(gain, 2), "a, b and 1 more: 3 places");
  EXPECT_EQ(RulesText(gain, 3), "a, b, c: 3 places");
  EXPECT_EQ(RulesText(gain, 9), "a, b, c: 3 places");
  EXPECT_EQ(RulesText({.rules = {"a"}, .regions = {At({"x"})}}, 1), "a: 1 place");
}

TEST(GainTextTest, AGainWithoutARuleSaysWhereItComesFrom) {
  EXPECT_EQ(RulesText({.rules = {}, .regions = {At({"x"})}}, 3),
            "(no rule: constants folded, equal parts merged): 1 place");
}

TEST(GainTextTest, AReplacementIsThatOfOneOfItsRegions) {
  EXPECT_EQ(ReplacementText({.before = {{"MatMul", 6, 1}},
                             .after = {{"MatMul", 2, 1}, {"Split", 2, 1}},
                             .sites = {"x", "y"}}),
            "3 x MatMul -> MatMul, Split");
  EXPECT_EQ(ReplacementText({.before = {{"Conv + Relu", 1, 1}}, .after = {}, .sites = {"x"}}),
            "Conv + Relu -> nothing");
  EXPECT_EQ(ReplacementText({.before = {}, .after = {{"Add", 2, 1}}, .sites = {}}),
            "nothing -> 2 x Add");
}

TEST(GainTextTest, ALongSideIsCut) {
  std::vector<KernelTally> kernels;
  for (int i = 1; i <= 6; ++i) kernels.push_back({absl::StrCat("k", i), 1, 1});
  EXPECT_EQ(ReplacementText({.before = kernels, .after = {}, .sites = {"x"}}),
            "k1, k2, k3, k4, k5, k6 -> nothing");
  kernels.push_back({"k7", 1, 1});
  kernels.push_back({"k8", 1, 1});
  EXPECT_EQ(ReplacementText({.before = {}, .after = kernels, .sites = {"x"}}),
            "nothing -> k1, k2, k3, k4, k5, k6, and 2 more kinds");
}

TEST(GainTextTest, APlaceIsTheFirstOfItsSites) {
  EXPECT_EQ(SitesText(At({})), "");
  EXPECT_EQ(SitesText(At({"layer1.conv"})), "at layer1.conv");
  EXPECT_EQ(SitesText(At({"layer1.conv", "layer2.conv"})), "first at layer1.conv");
}

TEST(GainTextTest, SharesAreOfTheOriginalsPrediction) {
  Report report;
  EXPECT_EQ(PercentOfOriginal(report, 5), 0) << "nothing was predicted";
  EXPECT_FALSE(IsWorthListing(report, 5));
  report.original.predicted_us = 200;
  EXPECT_EQ(PercentOfOriginal(report, 5), 2.5);
  EXPECT_EQ(PercentOfOriginal(report, -5), -2.5);
}

// Where a share would be printed as 0.0 %, it is not listed.
TEST(GainTextTest, LossesAreListedAsGainsAre) {
  Report report;
  report.original.predicted_us = 1000;
  for (const double sign : {1., -1.}) {
    EXPECT_TRUE(IsWorthListing(report, 0.5 * sign));
    EXPECT_FALSE(IsWorthListing(report, 0.49 * sign));
  }
}

}  // namespace
}  // namespace quotient::report
