#include "server/rpc/unsent_requests.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "server/rpc/call_kind.h"
#include "server/rpc/call_slot.h"

namespace quotient::rpc {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// One call. gRPC runs the hooks of a call one after the other.
class UnsentRequests::Call : public grpc::experimental::Interceptor {
 public:
  Call(ServerRpcInfo* info, StreamSlots* calls) : context_(*info->server_context()) {
    const CallKind kind = KindOf(info->method());
    if (kind == CallKind::kUpload || kind == CallKind::kReflection) return;
    calls_ = calls;
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (calls_ != nullptr &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      Begin();
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      slot_.reset();
    }
    methods->Proceed();
  }

 private:
  void Begin() {
    auto slot = TakeSlot(&context_, *calls_);
    if (!slot.ok()) return EndOf(&context_)();
    slot_ = *std::move(slot);
    slot_->BeginToWait();
  }

  grpc::ServerContextBase& context_;
  StreamSlots* calls_ = nullptr;             // Null if the call does not count here.
  std::unique_ptr<StreamSlots::Slot> slot_;  // Set until the request has come.
};

class UnsentRequests::Calls : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Calls(StreamSlots* calls) : calls_(*calls) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new Call(info, &calls_);
  }

 private:
  StreamSlots& calls_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
UnsentRequests::NewInterceptors() {
  return std::make_unique<Calls>(&calls_);
}

}  // namespace quotient::rpc
