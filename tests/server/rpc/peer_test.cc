#include "server/rpc/peer.h"

#include <gtest/gtest.h>

namespace quotient::rpc {
namespace {

TEST(PeerTest, AClientIsAMachine) {
  EXPECT_EQ(PeerHost("ipv4:127.0.0.1:4711"), "127.0.0.1");
  EXPECT_EQ(PeerHost("ipv6:%5B::1%5D:4711"), "[::1]");
  EXPECT_EQ(PeerHost("ipv6:[2001:db8::7]:80"), "[2001:db8::7]");
  EXPECT_EQ(PeerHost("unix:/run/quotient.sock"), "unix");
  EXPECT_EQ(PeerHost("unix-abstract:name"), "unix");
  EXPECT_EQ(PeerHost(""), "unknown");
}

}  // namespace
}  // namespace quotient::rpc
