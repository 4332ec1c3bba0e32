#include "server/rpc/connection_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "core/os/files.h"
#include "tests/server/support/fake_clock.h"

namespace quotient::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ConnectionTableTest : public ::testing::Test {
 protected:
  // Two ends of a connection.
  struct Pair {
    os::Fd ours, theirs;
  };

  Pair* Open(const std::string& client) {
    std::array<int, 2> sockets;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
    pairs_.push_back({os::Fd(sockets[0]), os::Fd(sockets[1])});
    table_.Add(sockets[0], client);
    return &pairs_.back();
  }

  // Numbers of the connections that were shut down, in the order in which they were opened.
  std::vector<int> Ended() const {
    std::vector<int> ended;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      pollfd theirs = {.fd = pairs_[i].theirs.get(), .events = POLLIN};
      if (poll(&theirs, 1, /*timeout=*/0) > 0) ended.push_back(static_cast<int>(i));
    }
    return ended;
  }

  quotient::testing::FakeClock clock_;
  ConnectionTable table_{{.most = 4, .longest_ms = 1000}, &clock_};
  std::deque<Pair> pairs_;
};

TEST_F(ConnectionTableTest, WhoHasMostGivesWay) {
  Open("a");
  Open("b");
  Open("b");
  Open("a");
  EXPECT_THAT(Ended(), IsEmpty());
  Open("b");
  EXPECT_THAT(Ended(), ElementsAre(1));
  Open("b");
  EXPECT_THAT(Ended(), ElementsAre(1, 2));
  Open("c");
  EXPECT_EQ(Ended().size(), 3) << "of a or b, who have two each";
  EXPECT_THAT(Ended(), ::testing::Not(::testing::Contains(6)));
}

TEST_F(ConnectionTableTest, WhatWasClosedTakesNoPlace) {
  std::vector<Pair*> kept;
  kept.reserve(3);
  for (int i = 0; i < 3; ++i) kept.push_back(Open("a"));
  for (int i = 0; i < 20; ++i) {
    Pair* const pair = Open("a");
    pair->ours.Close();
    pair->theirs = os::Fd();
  }
  Open("b");
  for (Pair* const pair : kept) {
    pollfd theirs = {.fd = pair->theirs.get(), .events = POLLIN};
    EXPECT_EQ(poll(&theirs, 1, /*timeout=*/0), 0);
  }
}

// Its descriptor may be another connection's by now.
TEST_F(ConnectionTableTest, WhatWasClosedIsNotShutDown) {
  Pair* const first = Open("a");
  const int number = first->ours.get();
  first->ours.Close();
  first->theirs = os::Fd();
  Pair* const other = Open("b");
  ASSERT_EQ(other->ours.get(), number);
  table_.EndOne();
  EXPECT_THAT(Ended(), ElementsAre(1)) << "the only one that is open";
  table_.EndOne();
}

TEST_F(ConnectionTableTest, NoneLastsLongWhenOthersCome) {
  Open("a");
  clock_.AdvanceMs(900);
  Open("a");
  clock_.AdvanceMs(200);
  EXPECT_THAT(Ended(), IsEmpty());
  Open("b");
  EXPECT_THAT(Ended(), ElementsAre(0));
}

TEST_F(ConnectionTableTest, OneEndsWhereThereIsNoRoom) {
  table_.EndOne();
  Open("a");
  Open("b");
  Open("b");
  table_.EndOne();
  EXPECT_THAT(Ended(), ElementsAre(1));
}

TEST(FullConnectionTableTest, ManyPlacesAreMadeAtOnce) {
  const quotient::testing::FakeClock clock;
  ConnectionTable table({.most = 128}, &clock);
  std::vector<os::Fd> ours, theirs;
  for (int i = 0; i < 129; ++i) {
    std::array<int, 2> sockets;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
    ours.emplace_back(sockets[0]);
    theirs.emplace_back(sockets[1]);
    table.Add(sockets[0], i == 0 ? "a" : "b");
  }
  int ended = 0;
  for (const os::Fd& socket : theirs) {
    pollfd polled = {.fd = socket.get(), .events = POLLIN};
    ended += poll(&polled, 1, /*timeout=*/0) > 0 ? 1 : 0;
  }
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace quotient::rpc
