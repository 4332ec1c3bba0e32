#include "server/ops/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <vector>

namespace quotient::ops {
namespace {

using Obstacle = Readiness::Obstacle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadinessTest, TheServerIsReadyWhileNothingStandsAgainstIt) {
  Metrics metrics;
  Readiness readiness(&metrics);
  std::vector<bool> told;
  EXPECT_THAT(readiness.obstacles(), ElementsAre("starting"));
  readiness.TellTo([&told](bool ready) { told.push_back(ready); });
  readiness.Set(Obstacle::kStarting, false);
  EXPECT_THAT(readiness.obstacles(), ElementsAre());
  readiness.Set(Obstacle::kStorage, true);
  readiness.Set(Obstacle::kDraining, true);
  EXPECT_THAT(readiness.obstacles(), ElementsAre("storage", "draining"));
  readiness.Set(Obstacle::kStorage, false);
  EXPECT_THAT(told, ElementsAre(false, true, false, false, false));
  EXPECT_THAT(readiness.obstacles(), ElementsAre("draining"));
}

TEST(ReadinessTest, AnObstacleHasAReasonForPeople) {
  Metrics metrics;
  Readiness readiness(&metrics);
  EXPECT_EQ(readiness.StorageFailure(), "");
  readiness.Set(Obstacle::kStorage, true, "full");
  EXPECT_THAT(readiness.obstacles(), ElementsAre("starting", "storage: full"));
  EXPECT_EQ(readiness.StorageFailure(), "full");
}

TEST(ReadinessTest, MetricsSayWhatStandsAgainstIt) {
  Metrics metrics;
  Readiness readiness(&metrics);
  readiness.Set(Obstacle::kStarting, false);
  readiness.Set(Obstacle::kStorage, true);
  const std::string text = prometheus::TextSerializer().Serialize(metrics.registry()->Collect());
  EXPECT_THAT(text, HasSubstr("quotient_ready 0"));
  EXPECT_THAT(text, HasSubstr("quotient_storage_up 0"));
  EXPECT_THAT(text, HasSubstr("quotient_draining 0"));
}

}  // namespace
}  // namespace quotient::ops
