#pragma once

// Limits how many connections are open. A further one is always taken, in place of the oldest of
// the client that has most. So who opens many connections, whatever comes over them, takes them
// from itself alone.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"

namespace quotient::rpc {

// Thread-safe.
class ConnectionTable {
 public:
  struct Limits {
    int most = 12'000;
    // When a further connection comes, those that are older are ended, too.
    std::optional<int64_t> longest_ms;
  };

  // Borrows the clock.
  ConnectionTable(const Limits& limits, const Clock* clock) : limits_(limits), clock_(*clock) {}

  // Enters a connection that was just opened, and shuts others down if they are too many. Whoever
  // owns a connection closes it when it likes, and tells nobody. `client` is the host or network at
  // the other end (PeerHost).
  void Add(int socket, absl::string_view client) ABSL_LOCKS_EXCLUDED(mutex_);
  // Shuts one down, as when a connection cannot be accepted for want of something.
  void EndOne() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Connection {
    int socket;
    ino_t inode;  // Tells whether the descriptor is still that of this connection.
    int64_t opened_ns;

    bool IsOpen() const;
  };

  void EndOld(int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the oldest connection of the client that has most. There must be one.
  void EndOneOfMost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndOldest(std::deque<Connection>* connections) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetEmptyClients() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const Clock& clock_;
  absl::Mutex mutex_;
  // The connections of each client, the oldest first. Some may be closed already.
  absl::flat_hash_map<std::string, std::deque<Connection>> clients_ ABSL_GUARDED_BY(mutex_);
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quotient::rpc
