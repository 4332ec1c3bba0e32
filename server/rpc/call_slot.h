#pragma once

// The slot of a call among those of StreamSlots.

#include <grpcpp/server_context.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

// Returns what ends the call with UNAVAILABLE, which tells its client to try again, in whatever
// state the call is, or has ended, and whether or not the context still exists. To be called
// without locks: gRPC may end the call at once in the same thread, with all that belongs to it.
std::function<void()> EndOf(grpc::ServerContextBase* context);

// Takes a slot for the call, whose peer it counts for. If another call gets the slot, this one is
// ended. Fails like StreamSlots::Take.
absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> TakeSlot(grpc::ServerContextBase* context,
                                                            StreamSlots& slots);

}  // namespace quotient::rpc
