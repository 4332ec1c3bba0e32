#include "server/jobs/fair_share.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace quotient::jobs {
namespace {

// Clients with endless work, in jobs of these lengths. Returns whose jobs ran, in order.
struct Worker {
  std::string Run(int jobs) {
    std::string order;
    for (int i = 0; i < jobs; ++i) {
      const QueueHead head = fair.Next(heads);
      order += head.client;
      const double seconds = head.client == "b" ? b_seconds : 10;
      fair.Began(head.client, 30);
      fair.Ended(head.client, 30, seconds);
    }
    return order;
  }

  FairShare fair;
  std::vector<QueueHead> heads = {{"a", "1", 0, 0}, {"b", "2", 0, 0}};
  double b_seconds = 10;
};

TEST(FairShareTest, ClientsTakeTurns) { EXPECT_EQ(Worker().Run(6), "ababab"); }

TEST(FairShareTest, WhoTakesLongerGetsFewerTurns) {
  EXPECT_EQ(Worker{.b_seconds = 30}.Run(8), "abaaabaa");
}

TEST(FairShareTest, WhoComesLaterIsNextAndHasSavedNothingUp) {
  Worker worker{.heads = {{"a", "1", 0, 0}}};
  EXPECT_EQ(worker.Run(3), "aaa");
  worker.heads.push_back({"b", "2", 0, 5});
  EXPECT_EQ(worker.Run(5), "babab");
}

TEST(FairShareTest, OfEqualsTheOldestIsNext) {
  FairShare fair;
  EXPECT_EQ(fair.Next(std::vector<QueueHead>{{"a", "1", 0, 7}, {"b", "2", 0, 3}}).client, "b");
}

TEST(FairShareTest, PriorityComesBeforeServiceOnce) {
  Worker worker{.heads = {{"a", "1", 1, 0}, {"b", "2", 0, 0}}};
  EXPECT_EQ(worker.Run(60), std::string(60, 'a')) << "60 jobs of 10 s";
  EXPECT_EQ(worker.Run(6), "ababab");
}

TEST(FairShareTest, LowPriorityWaitsBehindOthersButNotForEver) {
  Worker worker{.heads = {{"a", "1", -1, 0}, {"b", "2", 0, 0}}};
  EXPECT_EQ(worker.Run(62), std::string(60, 'b') + "ab");
}

TEST(FairShareTest, AJobThatBeganInAnotherProcessMayEnd) {
  FairShare fair;
  fair.Ended("a", 30, 10);
  EXPECT_EQ(fair.Next(std::vector<QueueHead>{{"a", "1", 0, 0}, {"b", "2", 0, 1}}).client, "a");
}

}  // namespace
}  // namespace quotient::jobs
