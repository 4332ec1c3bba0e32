#include "server/rpc/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/rpc/addresses.h"
#include "server/rpc/peer.h"

namespace quotient::rpc {
namespace {

constexpr char kUnix[] = "unix:";
// Time for gRPC to close what was ended, before the next attempt to accept.
constexpr int kPauseMs = 20;

void SetOption(const os::Fd& socket, int level, int option, int value) {
  setsockopt(socket.get(), level, option, &value, sizeof(value));
}

os::Fd NewSocket(int family) {
  return os::Fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool BindAndListen(const os::Fd& socket, const sockaddr& address, unsigned size) {
  return bind(socket.get(), &address, size) == 0 && listen(socket.get(), SOMAXCONN) == 0;
}

// Both families have the port in one place.
void SetPort(sockaddr_storage* address, int port) {
  reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<uint16_t>(port));
}

int PortOf(const os::Fd& socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// A process needs descriptors for other things than connections, too.
ConnectionTable::Limits WithinOpenFiles(ConnectionTable::Limits limits) {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    limits.most = static_cast<int>(std::min<rlim_t>(files.rlim_cur / 2, limits.most));
  }
  return limits;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const std::string& listen,
                                                         const ConnectionTable::Limits& limits,
                                                         int silence_ms) {
  std::unique_ptr<Listener> listener(new Listener(limits));
  absl::string_view path = listen;
  if (absl::ConsumePrefix(&path, kUnix)) {
    QUOTIENT_RETURN_IF_ERROR(listener->BindPath(std::string(path)));
    listener->address_ = listen;
  } else {
    QUOTIENT_RETURN_IF_ERROR(listener->BindHost(listen, silence_ms));
  }
  return listener;
}

Listener::Listener(const ConnectionTable::Limits& limits)
    : stop_(eventfd(0, EFD_CLOEXEC)), connections_(WithinOpenFiles(limits), &Clock::System()) {}

Listener::~Listener() { Stop(); }

absl::Status Listener::BindHost(const std::string& listen, int silence_ms) {
  const size_t colon = std::min(listen.rfind(':'), listen.size());
  const std::string host = listen.substr(0, colon);
  const std::string port = listen.substr(colon);
  const bool is_any = host.empty() || host == "0.0.0.0" || host == "[::]";
  AddSockets(is_any ? absl::StrCat("[::]", port) : listen, silence_ms);
  // A machine may have no IPv6.
  if (sockets_.empty() && is_any) AddSockets(absl::StrCat("0.0.0.0", port), silence_ms);
  if (sockets_.empty()) return absl::UnavailableError(absl::StrCat("cannot listen on ", listen));
  address_ = absl::StrCat(host, ":", PortOf(sockets_.front()));
  return absl::OkStatus();
}

void Listener::AddSockets(const std::string& listen, int silence_ms) {
  const Addresses addresses = Resolve(listen);
  for (const addrinfo* next = addresses.get(); next != nullptr; next = next->ai_next) {
    sockaddr_storage address = {};
    std::memcpy(&address, next->ai_addr, next->ai_addrlen);
    if (!sockets_.empty()) SetPort(&address, PortOf(sockets_.front()));
    os::Fd socket = NewSocket(next->ai_family);
    SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    if (next->ai_family == AF_INET6) SetOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    // Connections inherit these.
    SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, silence_ms);
    if (BindAndListen(socket, reinterpret_cast<const sockaddr&>(address), next->ai_addrlen)) {
      sockets_.push_back(std::move(socket));
    }
  }
}

absl::Status Listener::BindPath(const std::string& path) {
  sockaddr_un address = {.sun_family = AF_UNIX};
  os::Fd socket = NewSocket(AF_UNIX);
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", path, ": is too long"));
  }
  path.copy(address.sun_path, path.size());
  // A server that was killed left its socket.
  struct stat status = {};
  if (lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path.c_str());
  if (!BindAndListen(socket, reinterpret_cast<const sockaddr&>(address), sizeof(address))) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", path, ": ", strerror(errno)));
  }
  sockets_.push_back(std::move(socket));
  return absl::OkStatus();
}

void Listener::Start(Take take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { AcceptUntilStopped(); });
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
  sockets_.clear();
}

void Listener::AcceptUntilStopped() {
  std::vector<pollfd> polled = {{.fd = stop_.get(), .events = POLLIN}};
  for (const os::Fd& socket : sockets_) polled.push_back({.fd = socket.get(), .events = POLLIN});
  for (;;) {
    if (poll(polled.data(), polled.size(), /*timeout=*/-1) < 0) continue;  // A signal.
    if (polled.front().revents != 0) return;
    for (const pollfd& socket : polled) {
      if (socket.revents != 0) AcceptFrom(socket.fd);
    }
  }
}

void Listener::AcceptFrom(int listening) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  const int connection = accept4(listening, reinterpret_cast<sockaddr*>(&address), &size,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection >= 0) {
    is_short_ = false;
    connections_.Add(connection, PeerHost(reinterpret_cast<const sockaddr&>(address)));
    take_(listening, connection);
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    MakeRoom();
  }
}

void Listener::MakeRoom() {
  if (!is_short_) Log().warn("a connection cannot be accepted: {}", strerror(errno));
  is_short_ = true;
  connections_.EndOne();
  pollfd stop = {.fd = stop_.get(), .events = POLLIN};
  poll(&stop, 1, kPauseMs);
}

}  // namespace quotient::rpc
