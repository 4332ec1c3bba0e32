#include "server/store/disk/hash_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace quotient::store {
namespace {

TEST(HashTurnsTest, OnlySoManyThreadsHaveOneAndAllGetTheirs) {
  constexpr int kThreads = 16, kTurnsOfEach = 500, kAtOnce = 2;
  HashTurns turns(kAtOnce);
  std::atomic<int> at_once = 0, most = 0, taken = 0;
  const auto take = [&] {
    const auto turn = turns.Take();
    const int now = ++at_once;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    ++taken;
    --at_once;
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < kTurnsOfEach; ++turn) take();
      });
    }
  }
  EXPECT_EQ(taken, kThreads * kTurnsOfEach);
  EXPECT_LE(most, kAtOnce);
}

}  // namespace
}  // namespace quotient::store
