#include "core/timing/lane.h"

#include <new>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace quotient::timing {
namespace {

TEST(LaneTest, AllWorkRunsOnOneThreadOneAfterTheOther) {
  std::thread::id lane;
  RunInLane([&] { lane = std::this_thread::get_id(); });
  EXPECT_NE(lane, std::this_thread::get_id());
  int runs = 0;  // no lock: the lane is the lock
  bool inside = false;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int i = 0; i < 250; ++i) {
          RunInLane([&] {
            EXPECT_FALSE(inside);
            inside = true;
            EXPECT_EQ(std::this_thread::get_id(), lane);
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
  EXPECT_THROW(RunInLane([] { throw std::bad_alloc(); }), std::bad_alloc);
  bool ran = false;
  RunInLane([&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace quotient::timing
