#include "core/os/message_channel.h"

#include <sys/socket.h>

#include <string>
#include <thread>

#include "core/base/clock.h"
#include "core/os/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace quotient::os {
namespace {

using quotient::testing::StatusIs;

class MessageChannelTest : public ::testing::Test {
 protected:
  MessageChannelTest() : sockets_(*MakeSocketPair()), channel_(std::move(sockets_.ours), 8 << 20) {}

  static int64_t Soon() { return Clock::System().NowNs() + 50'000'000; }
  // Sends raw bytes from the other end.
  void Write(const std::string& bytes) const {
    ASSERT_EQ(send(sockets_.theirs.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  absl::Status Receive() { return channel_.Receive(&message_, Soon()); }

  SocketPair sockets_;
  MessageChannel channel_;
  std::string message_;
};

TEST_F(MessageChannelTest, BringsMessages) {
  const std::string large(4 << 20, 'x');  // More than a socket holds.
  MessageChannel theirs(std::move(sockets_.theirs));
  const std::jthread sender([&] {
    EXPECT_OK(theirs.Send(large, kNever));
    EXPECT_OK(theirs.Send("", kNever));
  });
  ASSERT_OK(channel_.Receive(&message_, kNever));
  EXPECT_EQ(message_, large);
  ASSERT_OK(channel_.Receive(&message_, kNever));
  EXPECT_EQ(message_, "");
}

TEST_F(MessageChannelTest, WaitingForInputLeavesTheChannelAsItIs) {
  EXPECT_THAT(channel_.AwaitInput(Soon()), StatusIs(absl::StatusCode::kDeadlineExceeded));
  Write(std::string("\x03\0\0\0abc", 7));
  EXPECT_OK(channel_.AwaitInput(Soon()));
  ASSERT_OK(Receive());
  EXPECT_EQ(message_, "abc");
}

TEST_F(MessageChannelTest, WaitsNoLongerThanTheDeadline) {
  Write(std::string("\x05\0\0\0abc", 7));  // Two bytes are missing.
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(channel_.Send(std::string(4 << 20, 'x'), Soon()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(MessageChannelTest, TakesNoMemoryForWhatIsOnlyAnnounced) {
  Write(std::string("\0\0\x70\0abc", 7));  // The beginning of 7 MiB.
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LE(message_.capacity(), size_t{2} << 20);
}

TEST_F(MessageChannelTest, SeesThatTheOtherEndIsGone) {
  sockets_.theirs.Close();
  EXPECT_OK(channel_.AwaitInput(Soon()));
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(channel_.Send("", Soon()), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(MessageChannelTest, RefusesMessagesThatAreTooLarge) {
  EXPECT_THAT(channel_.Send(std::string((8 << 20) + 1, 'x'), Soon()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  Write("\xff\xff\xff\x7f");
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace quotient::os
