#pragma once

// Bounds what calls take whose client does not read. A call that answers with one message, or with
// an error, holds a thread and the answer until the client has let all of it through, and a client
// may put that off for ever. So may one that opens a stream of the reflection service and says
// nothing. Without a bound, some hundred such calls would take all threads, and some thousand all
// memory.
//
// Of the calls of one client, so many may wait at once, and fewer with large messages. A further
// one takes the place of the one that has waited for longest, which is ended; if none has waited
// for more than a moment, the further one is. Downloads and watches have bounds of their own.

#include <grpcpp/support/server_interceptor.h>

#include <cstdint>
#include <memory>

#include "core/base/clock.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

struct UnreadLimits {
  SlotLimits small = {.count = 256, .per_peer = 64, .spared_idle_ms = 100};
  // Of messages of at least so many bytes.
  SlotLimits large = {.count = 32, .per_peer = 8, .spared_idle_ms = 100};
  int64_t large_bytes = 64 << 10;
  SlotLimits reflection = {.count = 32, .per_peer = 8, .spared_idle_ms = 100};
  // A call that waits for longer is ended in any case.
  int64_t max_idle_ms = 60'000;
};

// Thread-safe. Must outlive the calls of the server.
class UnreadReplies {
 public:
  // Borrows the clock.
  UnreadReplies(const UnreadLimits& limits, const Clock* clock)
      : limits_(limits),
        small_(limits.small, "unread replies", clock),
        large_(limits.large, "unread replies", clock),
        reflection_(limits.reflection, "calls of reflection", clock) {}

  // What the server needs to tell this object of its calls. Borrows this object.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewInterceptors();

  // To be called every few seconds.
  void CancelIdle();

 private:
  class ReplyWait;
  class InterceptorFactory;

  const UnreadLimits limits_;
  StreamSlots small_;
  StreamSlots large_;
  StreamSlots reflection_;
};

}  // namespace quotient::rpc
