#include "server/jobs/fair_places.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quotient::jobs {
namespace {

struct Place {
  std::string client;
  int64_t idle_ns = 0;
  bool gives_way = true;
};

// The number of the place that is given to the client; nothing if there is none.
std::optional<size_t> WhoGivesWay(const std::vector<Place>& places, const std::string& client) {
  FairPlaces counts;
  for (const Place& place : places) counts.Add(place.client);
  const Place* const chosen = counts.WhoGivesWay(places, client, [](const Place& place) {
    return place.gives_way ? std::optional(FairPlaces::Holder{place.client, place.idle_ns})
                           : std::nullopt;
  });
  if (chosen == nullptr) return std::nullopt;
  return static_cast<size_t>(chosen - places.data());
}

TEST(FairPlacesTest, TheLongestWithoutNewsOfWhoHasMostGivesWay) {
  EXPECT_EQ(WhoGivesWay({{"a", 9}, {"b", 1}, {"a", 9}, {"b", 3}, {"b", 2}}, "c"), 3);
}

TEST(FairPlacesTest, WhoHasMostHasToHaveTwoMore) {
  EXPECT_EQ(WhoGivesWay({{"a", 1}, {"b", 1}}, "c"), std::nullopt);
  EXPECT_EQ(WhoGivesWay({{"a", 1}, {"a", 2}, {"b", 3}}, "b"), std::nullopt);
  EXPECT_EQ(WhoGivesWay({{"a", 1}, {"a", 2}, {"b", 3}}, "c"), 1);
  EXPECT_EQ(WhoGivesWay({{"a", 1}, {"a", 2}, {"a", 0}, {"b", 3}}, "b"), 1);
  EXPECT_EQ(WhoGivesWay({{"a", 1}, {"a", 2}, {"a", 0}}, "a"), std::nullopt) << "nobody for itself";
}

TEST(FairPlacesTest, APlaceThatDoesNotGiveWayIsPassedOver) {
  EXPECT_EQ(WhoGivesWay({{"a", 9, false}, {"a", 1}, {"a", 0}}, "c"), 1);
  EXPECT_EQ(WhoGivesWay({{"a", 9, false}, {"a", 1, false}}, "c"), std::nullopt);
}

TEST(FairPlacesTest, PlacesThatWereGivenBackDoNotCount) {
  FairPlaces places;
  places.Add("a");
  places.Add("a");
  places.Add("b");
  places.Remove("a");
  EXPECT_EQ(places.Of("a"), 1);
  EXPECT_EQ(places.Of("c"), 0);
  EXPECT_EQ(places.all(), 2);
  places.Remove("a");
  EXPECT_EQ(places.Of("a"), 0);
}

}  // namespace
}  // namespace quotient::jobs
