#include "server/rpc/peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

namespace quotient::rpc {
namespace {

TEST(PeerTest, AClientIsAMachine) {
  EXPECT_EQ(PeerHost("ipv4:127.0.0.1:4711"), "127.0.0.1");
  EXPECT_EQ(PeerHost("ipv6:%5B::1%5D:4711"), "[::1]");
  EXPECT_EQ(PeerHost("unix:/run/quotient.sock"), "unix");
  EXPECT_EQ(PeerHost("unix-abstract:name"), "unix");
  EXPECT_EQ(PeerHost(""), "unknown");
}

TEST(PeerTest, ASocketsOtherEndIsTheSameClient) {
  sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(4711)};
  ASSERT_EQ(inet_pton(AF_INET, "10.1.2.3", &ipv4.sin_addr), 1);
  EXPECT_EQ(PeerHost(reinterpret_cast<const sockaddr&>(ipv4)), "10.1.2.3");
  for (const auto& [text, host] : {std::pair{"2001:db8::7", "[2001:db8::]/64"},
                                   {"::1", "[::1]"},
                                   {"::ffff:10.1.2.3", "10.1.2.3"}}) {
    sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};
    ASSERT_EQ(inet_pton(AF_INET6, text, &ipv6.sin6_addr), 1);
    EXPECT_EQ(PeerHost(reinterpret_cast<const sockaddr&>(ipv6)), host);
  }
  const sockaddr local = {.sa_family = AF_UNIX};
  EXPECT_EQ(PeerHost(local), "unix");
}

TEST(PeerTest, AMachineHasAWholeNetworkOfIpv6) {
  EXPECT_EQ(PeerHost("ipv6:[2001:db8::7]:80"), "[2001:db8::]/64");
  EXPECT_EQ(PeerHost("ipv6:%5B2001:db8:0:0:1234::8%5D:81"), "[2001:db8::]/64");
  EXPECT_EQ(PeerHost("ipv6:[2001:db8:0:1::7]:80"), "[2001:db8:0:1::]/64");
}

TEST(PeerTest, MachinesOfOneLinkAreApart) {
  EXPECT_EQ(PeerHost("ipv6:%5Bfe80::1%25eth0%5D:80"), "[fe80::1%eth0]");
  EXPECT_EQ(PeerHost("ipv6:[fe80::2]:80"), "[fe80::2]");
}

TEST(PeerTest, AnAddressOfIpv4IsTheSameWithinIpv6) {
  EXPECT_EQ(PeerHost("ipv6:%5B::ffff:192.0.2.7%5D:80"), "192.0.2.7");
}

TEST(PeerTest, WhatIsNoAddressStaysAsItIs) {
  EXPECT_EQ(PeerHost("ipv6:%5Bnonsense%5D:80"), "[nonsense]");
  EXPECT_EQ(PeerHost("ipv6:"), "");
}

}  // namespace
}  // namespace quotient::rpc
