#include "server/rpc/stream_slots.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/reason.h"
#include "tests/server/support/fake_clock.h"
#include "tests/support/status_matchers.h"

namespace quotient::rpc {
namespace {

using ::quotient::testing::HasReason;

class StreamSlotsTest : public ::testing::Test {
 protected:
  using Slot = std::unique_ptr<StreamSlots::Slot>;

  absl::StatusOr<Slot> TryTake(char name, absl::string_view peer) {
    return slots_.Take(peer, [this, name] { cancelled_ += name; });
  }
  // Null if there is none.
  Slot Take(char name, absl::string_view peer = "a peer") {
    absl::StatusOr<Slot> slot = TryTake(name, peer);
    return slot.ok() ? *std::move(slot) : nullptr;
  }

  testing::FakeClock clock_;
  StreamSlots slots_{{.count = 3, .per_peer = 2, .spared_idle_ms = 500}, "calls", &clock_};
  std::string cancelled_;
};

TEST_F(StreamSlotsTest, ThereAreSoManyAndTheyComeBack) {
  auto first = Take('a', "x");
  const auto second = Take('b', "y"), third = Take('c', "z");
  ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
  EXPECT_THAT(TryTake('d', "w"), HasReason(Reason::kQueueFull, "too many calls of all clients"));
  first.reset();
  EXPECT_NE(Take('d', "w"), nullptr);
}

TEST_F(StreamSlotsTest, NoPeerGetsAll) {
  const auto first = Take('a', "greedy"), second = Take('b', "greedy");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_THAT(TryTake('c', "greedy"),
              HasReason(Reason::kQuotaCalls, "too many calls of this client"));
  EXPECT_NE(Take('d', "other"), nullptr);
}

TEST_F(StreamSlotsTest, WhoStandsStillLosesItsPlaceToOthers) {
  const auto idle = Take('a', "x"), more_idle = Take('b', "y"), at_work = Take('c', "z");
  EXPECT_TRUE(more_idle->AwaitPeer([&] {
    clock_.AdvanceMs(400);
    return idle->AwaitPeer([&] {
      EXPECT_EQ(Take('d', "w"), nullptr);
      EXPECT_EQ(cancelled_, "");
      clock_.AdvanceMs(101);
      const auto newcomer = Take('d', "w");
      EXPECT_NE(newcomer, nullptr);
      EXPECT_EQ(cancelled_, "b");
      // The others do not stand still, or not for so long.
      EXPECT_EQ(Take('e', "v"), nullptr);
      EXPECT_EQ(cancelled_, "b");
      return true;
    });
  }));
}

// As for calls that take long and wait for nobody.
TEST_F(StreamSlotsTest, TheLastIsForWhoHasNone) {
  const auto first = Take('a', "busy");
  auto second = Take('b', "busy as well");
  const auto third = Take('c', "busy");
  EXPECT_EQ(third, nullptr) << "the third is the last";
  const auto last = Take('d', "new");
  EXPECT_NE(last, nullptr);
  second.reset();
  EXPECT_EQ(Take('e', "busy"), nullptr);
  EXPECT_NE(Take('f', "newer"), nullptr);
}

// Single bytes now and then do not keep a place.
TEST_F(StreamSlotsTest, WhoIsSlowStandsStill) {
  const auto slow = Take('a', "x"), fast = Take('b', "y"), third = Take('c', "z");
  const auto move = [&](StreamSlots::Slot& slot, size_t bytes) {
    EXPECT_TRUE(slot.AwaitPeer([&] {
      clock_.AdvanceMs(100);
      return true;
    }));
    slot.Moved(bytes);
  };
  for (int i = 0; i < 5; ++i) {
    move(*slow, 1);
    move(*fast, StreamSlots::kWorthwhileBytes / 4);
  }
  EXPECT_EQ(Take('d', "w"), nullptr);
  slow->BeginToWait();
  fast->BeginToWait();
  clock_.AdvanceMs(1);
  EXPECT_NE(Take('d', "w"), nullptr);
  EXPECT_EQ(cancelled_, "a");
}

// The time that the server takes is not the peer's.
TEST_F(StreamSlotsTest, WhoIsServedSlowlyDoesNotStandStill) {
  const auto first = Take('a', "x"), second = Take('b', "y"), third = Take('c', "z");
  EXPECT_TRUE(first->AwaitPeer([] { return true; }));
  clock_.AdvanceMs(501);
  EXPECT_TRUE(first->AwaitPeer([&] {
    EXPECT_EQ(Take('d', "w"), nullptr);
    return true;
  }));
}

// A few peers that are fast enough must not keep out all others.
TEST_F(StreamSlotsTest, WhoHasMoreMakesRoom) {
  const auto first = Take('a', "greedy"), second = Take('b', "greedy"), other = Take('c', "other");
  for (const auto& slot : {&first, &second, &other}) {
    (*slot)->BeginToWait();
    clock_.AdvanceMs(1);
  }
  const auto newcomer = Take('d', "new");
  EXPECT_NE(newcomer, nullptr);
  EXPECT_EQ(cancelled_, "a");
  // Now all have one.
  EXPECT_THAT(TryTake('e', "newer"), HasReason(Reason::kQueueFull));
  EXPECT_THAT(TryTake('f', "greedy"), HasReason(Reason::kQueueFull));
  EXPECT_EQ(cancelled_, "a");
}

TEST_F(StreamSlotsTest, WhoHasTooManyLosesOnlyItsOwn) {
  const auto first = Take('b', "greedy"), second = Take('c', "greedy"), other = Take('a', "other");
  EXPECT_TRUE(other->AwaitPeer([&] {
    clock_.AdvanceMs(100);
    return second->AwaitPeer([&] {
      clock_.AdvanceMs(501);
      EXPECT_NE(Take('d', "greedy"), nullptr);
      EXPECT_EQ(cancelled_, "c");
      return true;
    });
  }));
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
    slots_.CancelIdle(1000);
    return false;
  }));
  EXPECT_EQ(cancelled_, "a");
}

TEST_F(StreamSlotsTest, AStreamCanWaitUntilItsEnd) {
  const auto reply = Take('a');
  reply->BeginToWait();
  clock_.AdvanceMs(1001);
  slots_.CancelIdle(1000);
  EXPECT_EQ(cancelled_, "a");
}

TEST_F(StreamSlotsTest, PlacesOfCancelledStreamsAreGivenOnce) {
  auto first = Take('a', "x"), second = Take('b', "x");
  first->BeginToWait();
  clock_.AdvanceMs(501);
  auto third = Take('c', "x");
  EXPECT_EQ(cancelled_, "a");
  first.reset();
  EXPECT_EQ(Take('d', "x"), nullptr);
  second.reset();
  third.reset();
  const auto again = Take('e', "x"), more = Take('f', "x");
  EXPECT_NE(again, nullptr);
  EXPECT_NE(more, nullptr);
  EXPECT_EQ(Take('g', "x"), nullptr);
}

TEST_F(StreamSlotsTest, WhatHasEndedIsLeftAlone) {
  Take('a').reset();
  clock_.AdvanceMs(1001);
  slots_.CancelIdle(1000);
  EXPECT_EQ(cancelled_, "");
}

// gRPC may end a call within its cancellation, with all that belongs to it.
TEST_F(StreamSlotsTest, AStreamMayEndWhileItIsCancelled) {
  absl::StatusOr<Slot> first = slots_.Take("x", [&] { first->reset(); });
  ASSERT_TRUE(first.ok());
  (*first)->BeginToWait();
  const auto second = Take('b', "x");
  clock_.AdvanceMs(501);
  const auto third = Take('c', "x");
  EXPECT_NE(third, nullptr);
  EXPECT_EQ(*first, nullptr);
  absl::StatusOr<Slot> fourth = slots_.Take("y", [&] { fourth->reset(); });
  (*fourth)->BeginToWait();
  clock_.AdvanceMs(1001);
  slots_.CancelIdle(1000);
  EXPECT_EQ(*fourth, nullptr);
}

// It is the way of streams that tell news to stand still.
class NewsSlotsTest : public StreamSlotsTest {
 protected:
  // All of them stand still from the beginning, for ever longer.
  Slot Watch(char name, absl::string_view peer) {
    absl::StatusOr<Slot> slot = news_.Take(peer, [this, name] { cancelled_ += name; });
    if (!slot.ok()) return nullptr;
    (*slot)->BeginToWait();
    clock_.AdvanceMs(3'600'000);
    return *std::move(slot);
  }

  StreamSlots news_{{.count = 6, .per_peer = 3, .spared_idle_ms = std::nullopt}, "news", &clock_};
};

TEST_F(NewsSlotsTest, WhoHasMostGivesWay) {
  const auto a = Watch('a', "few"), b = Watch('b', "few"), c = Watch('c', "many"),
             d = Watch('d', "many"), e = Watch('e', "many"), f = Watch('f', "new");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(cancelled_, "");
  const auto g = Watch('g', "newer");
  EXPECT_NE(g, nullptr);
  EXPECT_EQ(cancelled_, "c") << "the oldest of who has most, and not the oldest of all";
}

TEST_F(NewsSlotsTest, NobodyTakesFromWhoHasOneMore) {
  const auto a = Watch('a', "x"), b = Watch('b', "x"), c = Watch('c', "y"), d = Watch('d', "y"),
             e = Watch('e', "z");
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(Watch('f', "z"), nullptr) << "the last is for who has none";
  const auto g = Watch('g', "new");
  ASSERT_NE(g, nullptr);
  const auto h = Watch('h', "newer");
  ASSERT_NE(h, nullptr);
  EXPECT_EQ(cancelled_, "a");
  // Whose stream was cancelled tries again, and nobody loses one for it.
  EXPECT_EQ(Watch('i', "x"), nullptr);
  EXPECT_EQ(cancelled_, "a");
}

TEST_F(NewsSlotsTest, NobodyHasMoreThanItMay) {
  const auto a = Watch('a', "x"), b = Watch('b', "x"), c = Watch('c', "x");
  EXPECT_EQ(Watch('d', "x"), nullptr);
  EXPECT_EQ(cancelled_, "");
}

}  // namespace
}  // namespace quotient::rpc
