#pragma once

// Accepts connections for gRPC, which has no limit of them, and which accepts none any more once
// descriptors have run out.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/os/files.h"
#include "server/rpc/connection_table.h"

namespace quotient::rpc {

class Listener {
 public:
  // Gets a connection, and the socket that it came to, which stays the listener's.
  using Take = std::function<void(int listening, int connection)>;

  // Listens on "HOST:PORT" or "unix:PATH", on all addresses of the host that can be bound. Port 0
  // means any free one. "0.0.0.0" and "[::]" are all addresses of both families. Connections that
  // nobody answers for `silence_ms` are closed by the system. Returns UNAVAILABLE if no address can
  // be bound.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const std::string& listen,
                                                        const ConnectionTable::Limits& limits,
                                                        int silence_ms);
  ~Listener();

  // The requested host and the port in use.
  const std::string& address() const { return address_; }

  // Gives each connection to `take`, which owns it, from a thread of its own. To be called once.
  void Start(Take take);
  // Accepts no further connection. `take` is not called any more when this returns.
  void Stop();

 private:
  explicit Listener(const ConnectionTable::Limits& limits);

  absl::Status BindHost(const std::string& listen, int silence_ms);
  absl::Status BindPath(const std::string& path);
  // Listens on all addresses of a host that can be bound, on the port of the first one.
  void AddSockets(const std::string& listen, int silence_ms);
  void AcceptUntilStopped();
  void AcceptFrom(int listening);
  // Makes room where a connection cannot be accepted.
  void MakeRoom();

  std::string address_;
  std::vector<os::Fd> sockets_;
  os::Fd stop_;  // Can be read when the thread is to end.
  ConnectionTable connections_;
  bool is_short_ = false;  // Of descriptors or memory. For the thread alone.
  Take take_;
  std::thread thread_;
};

}  // namespace quotient::rpc
