#pragma once

// Lets a service have its calls before their requests.
//
// gRPC hands a call with one request over when all of that has come, and until then knows no bound:
// neither of how many such calls there are nor of how long they last. A call whose type is that of
// a stream in both directions is handed over at once, so that it can be counted and ended
// (unsent_requests.h). A client sees no difference. gRPC's own generated code does the same for
// "streamed unary" methods.
//
//   const auto hand_over_early = [this](auto method) {  // In a constructor.
//     MarkMethodStreamed(NumberOf<v1::OptimizerService>(method), EarlyHandler(this, method));
//   };
//   hand_over_early(&OptimizerService::SubmitJob);

#include <google/protobuf/descriptor.h>
#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>

#include <functional>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "server/rpc/status.h"

namespace quotient::rpc {

// The number by which gRPC knows the method of a service that gets this request: each method has
// one of its own.
template <typename Service, typename Request>
int NumberOf() {
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  const auto* const service = pool->FindServiceByName(Service::service_full_name());
  int number = 0;
  while (service->method(number)->input_type() != Request::descriptor()) ++number;
  return number;
}

// The same of a method of its implementation.
template <typename Service, typename Implementation, typename Request, typename Answer>
int NumberOf(grpc::Status (Implementation::* /*method*/)(grpc::ServerContext*, const Request*,
                                                         Answer*)) {
  return NumberOf<Service, Request>();
}

// Reads the request and then does as gRPC's handler `Inner`, which expects to be given it.
template <typename Request, typename Inner>
class EarlyCallHandler : public grpc::internal::MethodHandler {
 public:
  template <typename... Arguments>
  explicit EarlyCallHandler(Arguments&&... arguments)
      : inner_(std::forward<Arguments>(arguments)...) {}

  void RunHandler(const HandlerParameter& param) override {
    // Where and how Inner::Deserialize makes it. Inner destroys it if the status is OK.
    void* const place = grpc_call_arena_alloc(param.call->call(), sizeof(Request));
    auto* const request = new (place) Request;
    grpc::Status status;
    if (!Read(param, request)) {
      request->~Request();
      status = ToGrpc(absl::InvalidArgumentError("there is no request, or none that can be read"));
    }
    inner_.RunHandler(HandlerParameter(param.call, param.server_context, request, status,
                                       /*handler_data=*/nullptr, /*requester=*/nullptr));
  }

 private:
  // Blocks until the request has come. Returns false if none will.
  static bool Read(const HandlerParameter& param, Request* request) {
    grpc::internal::CallOpSet<grpc::internal::CallOpRecvMessage<Request>> read;
    read.RecvMessage(request);
    param.call->PerformOps(&read);
    // What CompletionQueue::Pluck does, which only handlers of gRPC's own may call.
    void* tag = &read;
    bool ok = false;
    do {
      const grpc_event event = grpc_completion_queue_pluck(
          param.call->cq()->cq(), &read, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
      ok = event.success != 0;
    } while (!read.FinalizeResult(&tag, &ok));
    return ok && read.got_message;
  }

  Inner inner_;
};

// The handler of a method of `service` that answers with one message.
template <typename Service, typename Request, typename Response>
grpc::internal::MethodHandler* EarlyHandler(Service* service,
                                            grpc::Status (Service::*method)(grpc::ServerContext*,
                                                                            const Request*,
                                                                            Response*)) {
  using Inner = grpc::internal::RpcMethodHandler<Service, Request, Response>;
  return new EarlyCallHandler<Request, Inner>(std::mem_fn(method), service);
}

// The handler of one that answers with a stream.
template <typename Service, typename Request, typename Response>
grpc::internal::MethodHandler* EarlyHandler(
    Service* service, grpc::Status (Service::*method)(grpc::ServerContext*, const Request*,
                                                      grpc::ServerWriter<Response>*)) {
  using Inner = grpc::internal::ServerStreamingHandler<Service, Request, Response>;
  return new EarlyCallHandler<Request, Inner>(std::mem_fn(method), service);
}

}  // namespace quotient::rpc
