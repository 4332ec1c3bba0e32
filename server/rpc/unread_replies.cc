#include "server/rpc/unread_replies.h"

#include <grpcpp/server_context.h>

#include "server/rpc/peer.h"

namespace quotient::rpc {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// One call. gRPC runs the hooks of a call one after the other.
class UnreadReplies::Call : public grpc::experimental::Interceptor {
 public:
  Call(ServerRpcInfo* info, UnreadReplies* replies)
      : context_(*info->server_context()), type_(info->type()), replies_(*replies) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    // Only reflection has streams in both directions.
    if (type_ == ServerRpcInfo::Type::BIDI_STREAMING) {
      const bool begins =
          methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA);
      if (begins) TakeSlot(replies_.reflection_);
    } else if (type_ != ServerRpcInfo::Type::SERVER_STREAMING) {
      FollowReply(methods);
    }
    methods->Proceed();
  }

 private:
  void FollowReply(grpc::experimental::InterceptorBatchMethods* methods) {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      const auto bytes = static_cast<int64_t>(methods->GetSerializedSendMessage()->Length());
      TakeSlot(bytes >= replies_.limits_.large_bytes ? replies_.large_ : replies_.small_);
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_SEND_MESSAGE)) {
      slot_.reset();
    }
  }

  void TakeSlot(StreamSlots& slots) {
    auto slot = slots.Take(PeerHost(context_.peer()), [this] { context_.TryCancel(); });
    if (!slot.ok()) {
      context_.TryCancel();
    } else {
      slot_ = *std::move(slot);
      slot_->BeginToWait();
    }
  }

  const grpc::ServerContextBase& context_;
  const ServerRpcInfo::Type type_;
  UnreadReplies& replies_;
  std::unique_ptr<StreamSlots::Slot> slot_;  // Null unless the call waits for its client.
};

class UnreadReplies::Calls : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Calls(UnreadReplies* replies) : replies_(*replies) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new Call(info, &replies_);
  }

 private:
  UnreadReplies& replies_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
UnreadReplies::NewInterceptors() {
  return std::make_unique<Calls>(this);
}

void UnreadReplies::CancelIdle() {
  for (StreamSlots* slots : {&small_, &large_, &reflection_}) {
    slots->CancelIdle(limits_.max_idle_ms);
  }
}

}  // namespace quotient::rpc
