#include "core/timing/lane.h"

#include <atomic>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/clock_set_back.h"
#include "tests/support/temp_dir.h"

namespace quotient::timing {
namespace {

TEST(LaneTest, AllWorkRunsOnOneThreadOneAfterTheOther) {
  Lane lane;
  std::thread::id thread;
  lane.Run([&] { thread = std::this_thread::get_id(); });
  EXPECT_NE(thread, std::this_thread::get_id());
  int runs = 0;  // no lock: the lane is the lock
  bool inside = false;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int i = 0; i < 250; ++i) {
          lane.Run([&] {
            EXPECT_FALSE(inside);
            inside = true;
            EXPECT_EQ(std::this_thread::get_id(), thread);
            ++runs;
            inside = false;
          });
        }
      });
    }
  }
  EXPECT_EQ(runs, 1000);
}

TEST(LaneTest, WhatIsThrownThereIsThrownHere) {
  Lane lane;
  EXPECT_THROW(lane.Run([] { throw std::bad_alloc(); }), std::bad_alloc);
  bool ran = false;
  lane.Run([&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(LaneTest, UrgentWorkRunsBeforeWaitingWork) {
  Lane lane;
  std::vector<int> order;
  std::vector<std::jthread> callers;
  lane.Run([&] {
    EXPECT_FALSE(lane.HasUrgent());
    callers.emplace_back([&] { lane.Run([&] { order.push_back(2); }); });
    callers.emplace_back([&] { lane.RunUrgent([&] { order.push_back(1); }); });
    while (!lane.HasUrgent()) std::this_thread::yield();
  });
  callers.clear();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(LaneTest, LanesWithOneFileTakeTurns) {
  const testing::TempDir dir;
  Lane one(dir / "LANE");
  Lane other(dir / "LANE");
  std::atomic<int> inside = 0;
  const auto use = [&](Lane& lane) {
    for (int i = 0; i < 100; ++i) {
      lane.Run([&] {
        EXPECT_EQ(++inside, 1);
        std::this_thread::yield();
        --inside;
      });
    }
  };
  std::jthread thread([&] { use(one); });
  use(other);
}

TEST(LaneTest, TimeInWhichAnotherLaneHasItsTurnIsCounted) {
  const testing::TempDir dir;
  Lane one(dir / "LANE");
  Lane other(dir / "LANE");
  std::jthread waiting;
  one.Run([&] {
    waiting = std::jthread([&] { other.Run([] {}); });
    while (!other.waits()) std::this_thread::yield();
    EXPECT_EQ(other.waited_seconds(), 0);
  });
  waiting.join();
  EXPECT_GT(other.waited_seconds(), 0);
}

TEST(LaneTest, WithoutAFileItWorksAlone) {
  Lane lane("/no/such/folder/LANE");
  bool ran = false;
  lane.Run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(LaneTest, OthersHoldStillWhileItIsQuiet) {
  Lane lane;
  lane.AwaitNoQuiet({});  // Returns at once.
  std::atomic<bool> ended = false;
  std::optional<Lane::Quiet> quiet(&lane);
  std::jthread other([&] {
    lane.AwaitNoQuiet({});
    EXPECT_TRUE(ended);
  });
  const StopCondition soon(nullptr, Clock::System(), Clock::System().NowNs() + 1'000'000);
  EXPECT_TRUE(testing::IgnoresClockSetBack([&] { lane.AwaitNoQuiet(soon); }));
  EXPECT_TRUE(soon.ShouldStop());
  ended = true;
  quiet.reset();
}

}  // namespace
}  // namespace quotient::timing
