#pragma once

// The slot of a call among those of StreamSlots.

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/statusor.h"
#include "server/rpc/peer.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

// Takes a slot for the call, whose peer it counts for. If another call gets the slot, this one is
// cancelled. The context must outlive the slot. Fails like StreamSlots::Take.
inline absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> TakeSlot(grpc::ServerContextBase* context,
                                                                   StreamSlots& slots) {
  return slots.Take(PeerHost(context->peer()), [context] { context->TryCancel(); });
}

}  // namespace quotient::rpc
