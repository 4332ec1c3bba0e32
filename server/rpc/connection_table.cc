#include "server/rpc/connection_table.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

namespace quotient::rpc {
namespace {

// When the table is full, so many places are made at once: a look at all connections costs as much
// for one place as for many.
constexpr int kShareOfPlaces = 64;

// 0 for what is no open descriptor.
ino_t InodeOf(int socket) {
  struct stat status = {};
  return fstat(socket, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

bool ConnectionTable::Connection::IsOpen() const { return inode != 0 && InodeOf(socket) == inode; }

void ConnectionTable::Add(int socket, absl::string_view client) {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ns = clock_.NowNs();
  EndOld(now_ns);
  clients_[client].push_back({socket, InodeOf(socket), now_ns});
  if (++count_ <= limits_.most) return;
  ForgetClosed();
  if (count_ <= limits_.most) return;
  const int kept = limits_.most - limits_.most / kShareOfPlaces;
  while (count_ > kept) EndOneOfMost();
  ForgetEmptyClients();
}

void ConnectionTable::EndOne() {
  absl::MutexLock lock(&mutex_);
  ForgetClosed();
  if (count_ > 0) EndOneOfMost();
  ForgetEmptyClients();
}

void ConnectionTable::EndOld(int64_t now_ns) {
  if (!limits_.longest_ms.has_value()) return;
  const int64_t oldest_ns = now_ns - *limits_.longest_ms * 1'000'000;
  for (auto& [client, connections] : clients_) {
    while (!connections.empty() && connections.front().opened_ns < oldest_ns) {
      EndOldest(&connections);
    }
  }
  ForgetEmptyClients();
}

void ConnectionTable::ForgetClosed() {
  for (auto& [client, connections] : clients_) {
    count_ -= static_cast<int>(std::erase_if(
        connections, [](const Connection& connection) { return !connection.IsOpen(); }));
  }
  ForgetEmptyClients();
}

void ConnectionTable::EndOneOfMost() {
  const auto most = std::ranges::max_element(
      clients_, {}, [](const auto& client) { return client.second.size(); });
  EndOldest(&most->second);
}

void ConnectionTable::EndOldest(std::deque<Connection>* connections) {
  const Connection& oldest = connections->front();
  // If it is closed right now and its descriptor is another connection's, that one is lost, and its
  // client opens a new one.
  if (oldest.IsOpen()) shutdown(oldest.socket, SHUT_RDWR);
  connections->pop_front();
  --count_;
}

void ConnectionTable::ForgetEmptyClients() {
  absl::erase_if(clients_, [](const auto& client) { return client.second.empty(); });
}

}  // namespace quotient::rpc
