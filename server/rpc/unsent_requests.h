#pragma once

// Bounds the calls whose request has not come yet, or not all of it. A client may put it off for
// ever, and each such call takes memory, and most of them a thread.
//
// Most requests come with the headers of their call. So if there are too many such calls, of one
// client or in all, the one that has waited for longest is ended for the next. Uploads and streams
// of the reflection service have bounds of their own.

#include <grpcpp/support/server_interceptor.h>

#include <cstdint>
#include <memory>

#include "core/base/clock.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

struct UnsentLimits {
  SlotLimits slots = {.count = 128, .per_peer = 32, .spared_idle_ms = 0};
  // All of a request must have come within this time.
  int64_t max_wait_ms = 60'000;
};

// Thread-safe. Must outlive the calls of the server.
class UnsentRequests {
 public:
  // Borrows the clock.
  UnsentRequests(const UnsentLimits& limits, const Clock* clock)
      : limits_(limits), slots_(limits.slots, "calls without a request", clock) {}

  // What the server needs to tell this object of its calls. Borrows this object.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewInterceptors();

  // Ends calls whose time is over. To be called every few seconds.
  void CancelIdle() { slots_.CancelIdle(limits_.max_wait_ms); }

 private:
  class RequestWait;
  class InterceptorFactory;

  const UnsentLimits limits_;
  StreamSlots slots_;  // Of calls that wait for their requests.
};

}  // namespace quotient::rpc
