#include "server/ops/http_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/server/support/fake_clock.h"

namespace quotient::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HttpConnectionsTest : public ::testing::Test {
 protected:
  quotient::testing::FakeClock clock_;
  std::vector<int> ended_;
  HttpConnections connections_{
      {.most = 4, .longest_ms = 1000}, &clock_, [this](int socket) { ended_.push_back(socket); }};
};

TEST_F(HttpConnectionsTest, WhoHasMostGivesWay) {
  connections_.Opened(1, "a");
  connections_.Opened(2, "b");
  connections_.Opened(3, "b");
  connections_.Opened(4, "a");
  EXPECT_THAT(ended_, IsEmpty());
  connections_.Opened(5, "b");
  EXPECT_THAT(ended_, ElementsAre(2));
  connections_.Opened(6, "b");
  EXPECT_THAT(ended_, ElementsAre(2, 3));
  connections_.Opened(7, "c");
  EXPECT_THAT(ended_, ElementsAre(2, 3, 1)) << "of two who have as many the oldest";
}

TEST_F(HttpConnectionsTest, WhatWasClosedTakesNoPlace) {
  for (int i = 0; i < 20; ++i) {
    connections_.Opened(i, "a");
    if (i >= 3) connections_.Closed(i - 3);
  }
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(HttpConnectionsTest, WhatWasEndedTakesNoPlaceBeforeItIsClosed) {
  for (int i = 0; i < 5; ++i) connections_.Opened(i, "a");
  connections_.Closed(4);
  connections_.Opened(5, "a");
  EXPECT_THAT(ended_, ElementsAre(0));
  connections_.Closed(0);
  connections_.Opened(6, "a");
  EXPECT_THAT(ended_, ElementsAre(0, 1));
}

TEST_F(HttpConnectionsTest, NoneLastsLongWhenOthersCome) {
  connections_.Opened(1, "a");
  clock_.AdvanceMs(900);
  connections_.Opened(2, "a");
  clock_.AdvanceMs(200);
  EXPECT_THAT(ended_, IsEmpty());
  connections_.Opened(3, "b");
  EXPECT_THAT(ended_, ElementsAre(1));
}

}  // namespace
}  // namespace quotient::ops
