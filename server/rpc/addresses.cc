#include "server/rpc/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/strip.h"

namespace quotient::rpc {

Addresses Resolve(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  addrinfo* found = nullptr;
  if (colon != listen.npos && colon + 1 < listen.size()) {
    const std::string host(absl::StripPrefix(absl::StripSuffix(listen.substr(0, colon), "]"), "["));
    const addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    if (getaddrinfo(host.empty() ? nullptr : host.c_str(), listen.c_str() + colon + 1, &hints,
                    &found) != 0) {
      found = nullptr;
    }
  }
  return {found, &freeaddrinfo};
}

bool IsLoopback(const std::string& listen) {
  absl::string_view host = listen;
  if (absl::ConsumePrefix(&host, "unix:")) return true;
  host = host.substr(0, host.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr parsed;
  if (inet_pton(AF_INET, std::string(host).c_str(), &parsed) != 1) return false;
  return (ntohl(parsed.s_addr) >> 24) == 127;
}

}  // namespace quotient::rpc
