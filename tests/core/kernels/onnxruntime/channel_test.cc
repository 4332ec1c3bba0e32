#include "core/kernels/onnxruntime/channel.h"

#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/os/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::ElementsAre;

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() : sockets_(*os::MakeSocketPair()), channel_(std::move(sockets_.ours)) {}

  static int64_t Soon() { return Clock::System().NowNs() + 50'000'000; }
  // Sends raw bytes from the other end.
  void Write(const std::string& bytes) const {
    ASSERT_EQ(send(sockets_.theirs.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  absl::Status Receive(uint64_t most_bytes = 100) {
    return channel_.Receive(most_bytes, Soon(), &answer_, &blobs_);
  }

  os::SocketPair sockets_;
  Channel channel_;
  ort::v1::Answer answer_;
  std::vector<std::string> blobs_;
};

TEST_F(ChannelTest, BringsMessagesWithTheirBytes) {
  const std::string large(4 << 20, 'x');  // More than a socket holds.
  Channel theirs(std::move(sockets_.theirs));
  const std::jthread sender([&] {
    ort::v1::Answer answer;
    answer.set_message("first");
    const std::vector<absl::string_view> blobs = {"a", "", large};
    EXPECT_TRUE(theirs.Send(answer, blobs, kNever).ok());
    EXPECT_TRUE(theirs.Send(ort::v1::Answer(), {}, kNever).ok());
  });
  ASSERT_OK(channel_.Receive(large.size() + 1, kNever, &answer_, &blobs_));
  EXPECT_EQ(answer_.message(), "first");
  EXPECT_THAT(blobs_, ElementsAre("a", "", large));
  ASSERT_OK(channel_.Receive(0, kNever, &answer_, &blobs_));
  EXPECT_TRUE(blobs_.empty());
}

TEST_F(ChannelTest, WaitsNoLongerThanTheDeadline) {
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  Write(std::string("\x05\0\0\0abc", 7));  // Two bytes are missing.
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  const std::string large(4 << 20, 'x');
  const std::vector<absl::string_view> blobs = {large};
  EXPECT_THAT(channel_.Send(ort::v1::Request(), blobs, Soon()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(ChannelTest, SeesThatTheOtherEndIsGone) {
  sockets_.theirs.Close();
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(channel_.Send(ort::v1::Request(), {}, Soon()),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ChannelTest, RefusesMessagesThatAreTooLarge) {
  Write("\xff\xff\xff\x7f");
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ChannelTest, RefusesWhatIsNoMessage) {
  Write(std::string("\x02\0\0\0\xff\xff", 6));
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ChannelTest, RefusesMoreBytesThanMayCome) {
  Channel theirs(std::move(sockets_.theirs));
  const std::vector<absl::string_view> blobs = {"12", "345"};
  ASSERT_OK(theirs.Send(ort::v1::Answer(), blobs, Soon()));
  EXPECT_THAT(Receive(4), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
