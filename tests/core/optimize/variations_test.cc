#include "core/optimize/variations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace quotient::optimize {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Families that save these percentages of the original's cost.
LeaveOut Plan(const std::vector<double>& savings, bool is_taken) {
  std::vector<RewriteFamily> families;
  for (const double saving : savings) families.push_back({"rule", saving});
  return {families, is_taken, 100};
}

TEST(LeaveOut, OfWhatWasTakenWhatHardlySavesAnything) {
  LeaveOut plan = Plan({20, 3, 0.4, -1}, true);
  EXPECT_THAT(plan.Next(), ElementsAre(ElementsAre(2, 3)));
  plan.ReportTaken(0);
  EXPECT_THAT(plan.Next(), IsEmpty());
}

TEST(LeaveOut, NothingOfWhatWasTakenIfAllOrNoneIsDoubtful) {
  EXPECT_THAT(Plan({20, 3}, true).Next(), IsEmpty());
  EXPECT_THAT(Plan({0.1, -0.1}, true).Next(), IsEmpty());
}

TEST(LeaveOut, OfFewEachAlone) {
  LeaveOut plan = Plan({20, 3, -1}, false);
  EXPECT_THAT(plan.Next(), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  plan.ReportTaken(2);
  EXPECT_THAT(plan.Next(), IsEmpty());
}

TEST(LeaveOut, OfManyHalvesUntilTheHarmfulOneIsAlone) {
  LeaveOut plan = Plan({20, 10, 5, 4, 3}, false);
  EXPECT_THAT(plan.Next(), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
  plan.ReportTaken(0);
  EXPECT_THAT(plan.Next(), ElementsAre(ElementsAre(0, 4), ElementsAre(2)));
  plan.ReportTaken(0);
  EXPECT_THAT(plan.Next(), ElementsAre(ElementsAre(0), ElementsAre(4)));
  plan.ReportTaken(1);
  EXPECT_THAT(plan.Next(), IsEmpty());
}

TEST(LeaveOut, EndsWhereNoHalfHelps) {
  LeaveOut plan = Plan({20, 10, 5, 4}, false);
  plan.Next();
  plan.ReportTaken(std::nullopt);
  EXPECT_THAT(plan.Next(), IsEmpty());
}

}  // namespace
}  // namespace quotient::optimize
