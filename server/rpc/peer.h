#pragma once

// Who calls: all connections from one machine are one client. A machine has a whole network of
// addresses of IPv6, 2^64 of them, which it may use as it likes, so that such a network is one
// client, too.

#include <sys/socket.h>

#include <string>

#include "absl/strings/string_view.h"

namespace quotient::rpc {

// The host or network of a peer as gRPC names it: "127.0.0.1" for "ipv4:127.0.0.1:4711", "[::1]"
// for "ipv6:%5B::1%5D:4711", "[2001:db8::]/64" for other addresses of IPv6, and "unix" for a socket
// that only this machine can reach. Has no spaces.
std::string PeerHost(absl::string_view peer);
// The same of the other end of a socket.
std::string PeerHost(const sockaddr& peer);

}  // namespace quotient::rpc
