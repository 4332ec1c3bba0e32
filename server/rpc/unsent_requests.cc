#include "server/rpc/unsent_requests.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "server/rpc/call_kind.h"
#include "server/rpc/call_slot.h"

namespace quotient::rpc {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// How one call waits for its request. gRPC runs the hooks of a call one after the other.
class UnsentRequests::RequestWait : public grpc::experimental::Interceptor {
 public:
  RequestWait(ServerRpcInfo* info, StreamSlots* slots)
      : context_(*info->server_context()), kind_(KindOf(info->method())), slots_(*slots) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    const bool is_bounded = kind_ != CallKind::kUpload && kind_ != CallKind::kReflection;
    if (is_bounded &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      Begin();
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      slot_.reset();
    }
    methods->Proceed();
  }

 private:
  // Holds a slot from now on. Ends the call if there is none.
  void Begin() {
    auto slot = TakeSlot(&context_, slots_);
    if (!slot.ok()) return EndOf(&context_)();
    slot_ = *std::move(slot);
    slot_->BeginToWait();
  }

  grpc::ServerContextBase& context_;
  const CallKind kind_;
  StreamSlots& slots_;
  std::unique_ptr<StreamSlots::Slot> slot_;  // Set until the request has come.
};

class UnsentRequests::InterceptorFactory
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit InterceptorFactory(StreamSlots* slots) : slots_(*slots) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new RequestWait(info, &slots_);
  }

 private:
  StreamSlots& slots_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
UnsentRequests::NewInterceptors() {
  return std::make_unique<InterceptorFactory>(&slots_);
}

}  // namespace quotient::rpc
