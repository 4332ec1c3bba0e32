#include "server/rpc/stream_slots.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/server/support/fake_clock.h"

namespace quotient::rpc {
namespace {

class StreamSlotsTest : public ::testing::Test {
 protected:
  std::unique_ptr<StreamSlots::Slot> Take(char name) {
    return slots_.TryTake([this, name] { cancelled_ += name; });
  }

  testing::FakeClock clock_;
  StreamSlots slots_{/*count=*/2, &clock_};
  std::string cancelled_;
};

TEST_F(StreamSlotsTest, ThereAreSoManyAndTheyComeBack) {
  auto first = Take('a');
  const auto second = Take('b');
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(Take('c'), nullptr);
  first.reset();
  EXPECT_NE(Take('c'), nullptr);
}

TEST_F(StreamSlotsTest, OnlyThoseThatWaitForLongAreCancelled) {
  const auto silent = Take('a');
  const auto at_work = Take('b');
  EXPECT_TRUE(at_work->AwaitPeer([] { return true; }));
  EXPECT_FALSE(silent->AwaitPeer([&] {
    clock_.AdvanceMs(1000);
    slots_.CancelIdle(1000);
    EXPECT_EQ(cancelled_, "");
    clock_.AdvanceMs(1);
    slots_.CancelIdle(1000);
    return false;
  }));
  EXPECT_EQ(cancelled_, "a");
}

TEST_F(StreamSlotsTest, WhatHasEndedIsLeftAlone) {
  Take('a').reset();
  clock_.AdvanceMs(1001);
  slots_.CancelIdle(1000);
  EXPECT_EQ(cancelled_, "");
}

}  // namespace
}  // namespace quotient::rpc
