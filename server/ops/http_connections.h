#pragma once

// Limits how many connections of HTTP are open, and for how long. A further one is always taken, in
// place of the oldest of the client that has most. So who opens many connections, whatever comes
// over them, takes them from itself alone.

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"

namespace quotient::ops {

// Thread-safe.
class HttpConnections {
 public:
  struct Limits {
    int most = 64;
    // When a further connection comes, those that are older are ended, too.
    int64_t longest_ms = 30'000;
  };

  // `end` makes the connection with this socket end soon. It is called with a lock held, so it must
  // not call back. Borrows the clock.
  HttpConnections(const Limits& limits, const Clock* clock, std::function<void(int)> end)
      : limits_(limits), clock_(*clock), end_(std::move(end)) {}

  // `client` is who is at the other end (rpc::PeerHost).
  void Opened(int socket, std::string client) ABSL_LOCKS_EXCLUDED(mutex_);
  // Must be called before the socket is closed, because its number is another connection's then.
  void Closed(int socket) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Connection {
    int socket;
    std::string client;
    int64_t opened_ns;
  };
  using Place = std::list<Connection>::iterator;

  // The oldest connection of the client that has most.
  Place OfWhoHasMost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const Clock& clock_;
  const std::function<void(int)> end_;
  absl::Mutex mutex_;
  // From the oldest to the newest, without those that were ended.
  std::list<Connection> connections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::ops
