#include "server/rpc/peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace quotient::rpc {
namespace {

constexpr size_t kNetworkBytes = 8;

// `host` is an address of IPv6 in brackets.
std::string NetworkOf(const std::string& host) {
  in6_addr address;
  const std::string text(absl::StripPrefix(absl::StripSuffix(host, "]"), "["));
  // A zone, as in fe80::1%eth0, is on this link, where machines have a network in common.
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return host;
  if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address)) return host;
  char network[INET6_ADDRSTRLEN];
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return inet_ntop(AF_INET, &address.s6_addr[12], network, sizeof(network));
  }
  std::fill(std::begin(address.s6_addr) + kNetworkBytes, std::end(address.s6_addr), 0);
  return absl::StrCat("[", inet_ntop(AF_INET6, &address, network, sizeof(network)), "]/64");
}

}  // namespace

std::string PeerHost(absl::string_view peer) {
  const bool is_ipv6 = absl::ConsumePrefix(&peer, "ipv6:");
  if (!is_ipv6 && !absl::ConsumePrefix(&peer, "ipv4:")) {
    return absl::StartsWith(peer, "unix") ? "unix" : "unknown";
  }
  const std::string host = absl::StrReplaceAll(
      peer.substr(0, peer.rfind(':')), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}, {" ", ""}});
  return is_ipv6 ? NetworkOf(host) : host;
}

std::string PeerHost(const sockaddr& peer) {
  const bool is_ipv6 = peer.sa_family == AF_INET6;
  if (!is_ipv6 && peer.sa_family != AF_INET) return PeerHost("unix:");
  char host[NI_MAXHOST];
  if (getnameinfo(&peer, is_ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in), host, sizeof(host),
                  nullptr, 0, NI_NUMERICHOST) != 0) {
    return PeerHost("");
  }
  return PeerHost(is_ipv6 ? absl::StrCat("ipv6:[", host, "]:0")
                          : absl::StrCat("ipv4:", host, ":0"));
}

}  // namespace quotient::rpc
