#include "server/jobs/fair_share.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace quotient::jobs {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// One worker, and clients with endless work in jobs of these lengths, all of which are expected to
// take 30 s. Run returns whose jobs ran, in order.
struct Worker {
  std::string Run(int jobs) {
    std::string order;
    for (int i = 0; i < jobs; ++i) {
      const QueueHead head = fair.Next(heads);
      order += head.client;
      fair.Began("job", head.client, 30, now_ns);
      now_ns += (head.client == "b" ? b_seconds : 10) * kSecond;
      fair.Ended("job", now_ns);
    }
    return order;
  }

  FairShare fair;
  int64_t now_ns = 0;
  std::vector<QueueHead> heads = {{"a", "1", 0}, {"b", "2", 0}};
  int64_t b_seconds = 10;
};

TEST(FairShareTest, ClientsTakeTurns) { EXPECT_EQ(Worker().Run(6), "ababab"); }

TEST(FairShareTest, WhoTakesLongerGetsFewerTurns) {
  EXPECT_EQ(Worker{.b_seconds = 30}.Run(8), "abaaabaa");
}

TEST(FairShareTest, WhoComesLaterIsNextAndHasSavedNothingUp) {
  Worker worker{.heads = {{"a", "1", 0}}};
  EXPECT_EQ(worker.Run(3), "aaa");
  worker.heads.push_back({"b", "2", 5});
  EXPECT_EQ(worker.Run(5), "babab");
}

TEST(FairShareTest, WhoComesNowAndThenDoesNotWaitForWhoIsAlwaysThere) {
  Worker worker;
  for (int i = 0; i < 5; ++i) {
    worker.heads = {{"a", "1", 0}};
    worker.Run(10);
    worker.heads.push_back({"b", "2", 5});
    EXPECT_EQ(worker.Run(1), "b");
  }
}

TEST(FairShareTest, OfEqualsTheOldestIsNext) {
  FairShare fair;
  EXPECT_EQ(fair.Next(std::vector<QueueHead>{{"a", "1", 7}, {"b", "2", 3}}).client, "b");
}

// With several workers other jobs begin meanwhile.
TEST(FairShareTest, AJobThatTakesMuchLongerThanExpectedIsPaidFor) {
  FairShare fair;
  const std::vector<QueueHead> both = {{"a", "1", 0}, {"b", "2", 0}};
  fair.Began("long", "a", 1, 0);
  const std::vector<QueueHead> b_alone = {{"b", "2", 0}};
  int64_t now_ns = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(fair.Next(b_alone).client, "b");
    fair.Began("short", "b", 1, now_ns);
    now_ns += kSecond;
    fair.Ended("short", now_ns);
  }
  now_ns += 100 * kSecond;
  fair.Ended("long", now_ns);
  int64_t b_runs = 0;
  while (fair.Next(both).client == "b") {
    fair.Began("short", "b", 1, now_ns);
    now_ns += kSecond;
    fair.Ended("short", now_ns);
    ++b_runs;
  }
  EXPECT_NEAR(static_cast<double>(b_runs), 100, 2);
}

TEST(FairShareTest, AJobThatBeganInAnotherProcessMayEnd) {
  FairShare fair;
  fair.Ended("job", kSecond);
  EXPECT_EQ(fair.Next(std::vector<QueueHead>{{"a", "1", 0}, {"b", "2", 1}}).client, "a");
}

}  // namespace
}  // namespace quotient::jobs
