#include "core/base/monotonic_mutex.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/clock_set_back.h"

namespace quotient {
namespace {

class MonotonicMutexTest : public ::testing::Test {
 protected:
  // Waits until the value is `wanted`, and sets it to `next`.
  void Replace(int wanted, int next) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MonotonicMutexLock lock(&mutex_);
    mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return value_ == wanted; });
    value_ = next;
  }
  bool AwaitFor(int wanted, absl::Duration time) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MonotonicMutexLock lock(&mutex_);
    return mutex_.AwaitFor([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return value_ == wanted; },
                           time);
  }

  MonotonicMutex mutex_;
  int value_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(MonotonicMutexTest, WhoeverUnlocksWakesThoseWhoseConditionHolds) {
  {
    std::jthread even([this] {
      for (int i = 0; i < 200; i += 2) Replace(i, i + 1);
    });
    std::jthread odd([this] {
      for (int i = 1; i < 200; i += 2) Replace(i, i + 1);
    });
    std::jthread last([this] { EXPECT_TRUE(AwaitFor(200, absl::InfiniteDuration())); });
  }
  EXPECT_TRUE(AwaitFor(200, absl::ZeroDuration()));
}

TEST_F(MonotonicMutexTest, WhoeverBeginsToWaitWakesThoseWhoseConditionHolds) {
  std::jthread other([this] { Replace(1, 2); });
  const MonotonicMutexLock lock(&mutex_);
  mutex_.AwaitFor([] { return false; }, absl::Milliseconds(1));  // The other one may wait now.
  value_ = 1;
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return value_ == 2; });
}

TEST_F(MonotonicMutexTest, AWaitForATimeEndsThen) {
  EXPECT_FALSE(AwaitFor(1, absl::Milliseconds(1)));
  EXPECT_FALSE(AwaitFor(1, absl::ZeroDuration()));
  EXPECT_FALSE(AwaitFor(1, -absl::InfiniteDuration()));
}

TEST_F(MonotonicMutexTest, ItDoesSoIfTheMachinesClockIsSetBack) {
  EXPECT_TRUE(testing::IgnoresClockSetBack([this] { AwaitFor(1, absl::Milliseconds(1)); }));
}

}  // namespace
}  // namespace quotient
