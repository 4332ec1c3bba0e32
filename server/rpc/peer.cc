#include "server/rpc/peer.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace quotient::rpc {

std::string PeerHost(absl::string_view peer) {
  if (!absl::ConsumePrefix(&peer, "ipv4:") && !absl::ConsumePrefix(&peer, "ipv6:")) {
    return absl::StartsWith(peer, "unix") ? "unix" : "unknown";
  }
  const absl::string_view host = peer.substr(0, peer.rfind(':'));
  return absl::StrReplaceAll(host, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}, {" ", ""}});
}

}  // namespace quotient::rpc
