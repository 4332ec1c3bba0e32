#include "server/ops/http_connections.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace quotient::ops {

void HttpConnections::Opened(int socket, std::string client) {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ns = clock_.NowNs();
  connections_.push_back({socket, std::move(client), now_ns});
  while (now_ns - connections_.front().opened_ns > limits_.longest_ms * 1'000'000) {
    End(connections_.begin());
  }
  if (std::ssize(connections_) > limits_.most) End(OfWhoHasMost());
}

void HttpConnections::Closed(int socket) {
  absl::MutexLock lock(&mutex_);
  const auto place = std::ranges::find(connections_, socket, &Connection::socket);
  if (place != connections_.end()) connections_.erase(place);
}

HttpConnections::Place HttpConnections::OfWhoHasMost() {
  absl::flat_hash_map<absl::string_view, int> counts;
  for (const Connection& connection : connections_) ++counts[connection.client];
  return std::ranges::max_element(
      connections_, {}, [&](const Connection& connection) { return counts[connection.client]; });
}

void HttpConnections::End(Place place) {
  end_(place->socket);
  connections_.erase(place);
}

}  // namespace quotient::ops
