#include "server/rpc/unread_replies.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "server/rpc/call_kind.h"
#include "server/rpc/call_slot.h"

namespace quotient::rpc {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// How one call waits until its reply is read. gRPC runs the hooks of a call one after the other.
class UnreadReplies::ReplyWait : public grpc::experimental::Interceptor {
 public:
  ReplyWait(ServerRpcInfo* info, UnreadReplies* replies)
      : context_(*info->server_context()), kind_(KindOf(info->method())), replies_(*replies) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (kind_ == CallKind::kReflection) {
      const bool begins =
          methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA);
      if (begins) Wait(replies_.reflection_);
    } else if (kind_ != CallKind::kWatch) {
      FollowReply(methods);
    }
    methods->Proceed();
  }

 private:
  void FollowReply(grpc::experimental::InterceptorBatchMethods* methods) {
    if (kind_ != CallKind::kDownload) {
      if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
        const auto bytes = static_cast<int64_t>(methods->GetSerializedSendMessage()->Length());
        Wait(bytes >= replies_.limits_.large_bytes ? replies_.large_ : replies_.small_);
      }
      if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_SEND_MESSAGE)) {
        slot_.reset();
      }
    }
    // An error, or the end of a download.
    if (slot_ == nullptr &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      Wait(replies_.small_);
    }
  }

  // Holds a place from now on. Ends the call if there is none.
  void Wait(StreamSlots& slots) {
    auto slot = TakeSlot(&context_, slots);
    if (!slot.ok()) return EndOf(&context_)();
    slot_ = *std::move(slot);
    slot_->BeginToWait();
  }

  grpc::ServerContextBase& context_;
  const CallKind kind_;
  UnreadReplies& replies_;
  std::unique_ptr<StreamSlots::Slot> slot_;  // Null unless the call waits for its client.
};

class UnreadReplies::InterceptorFactory
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit InterceptorFactory(UnreadReplies* replies) : replies_(*replies) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new ReplyWait(info, &replies_);
  }

 private:
  UnreadReplies& replies_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
UnreadReplies::NewInterceptors() {
  return std::make_unique<InterceptorFactory>(this);
}

void UnreadReplies::CancelIdle() {
  for (StreamSlots* slots : {&small_, &large_, &reflection_}) {
    slots->CancelIdle(limits_.max_idle_ms);
  }
}

}  // namespace quotient::rpc
