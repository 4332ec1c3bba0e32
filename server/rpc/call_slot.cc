#include "server/rpc/call_slot.h"

#include <grpc/grpc.h>

#include "server/rpc/peer.h"

namespace quotient::rpc {

std::function<void()> EndOf(grpc::ServerContextBase* context) {
  // A context has no call where a service is called without a connection, as by the fuzzers.
  if (context->c_call() == nullptr) return [] {};
  // ServerContextBase::TryCancel would need the context, which can be gone by then.
  grpc_call_ref(context->c_call());
  const std::shared_ptr<grpc_call> call(context->c_call(), &grpc_call_unref);
  return [call] {
    grpc_call_cancel_with_status(call.get(), GRPC_STATUS_UNAVAILABLE,
                                 "this call gave way to others; try again", nullptr);
  };
}

absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> TakeSlot(grpc::ServerContextBase* context,
                                                            StreamSlots& slots) {
  return slots.Take(PeerHost(context->peer()), EndOf(context));
}

}  // namespace quotient::rpc
