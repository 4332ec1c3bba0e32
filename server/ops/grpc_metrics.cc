#include "server/ops/grpc_metrics.h"

#include "absl/strings/string_view.h"
#include "server/ops/grpc_methods.h"

namespace quotient::ops {
namespace {

using grpc::experimental::InterceptionHookPoints;

// Measures one call. gRPC runs the hooks of a call one after the other.
class CallMeter : public grpc::experimental::Interceptor {
 public:
  CallMeter(absl::string_view path, const Clock* clock, Metrics* metrics)
      : clock_(*clock),
        metrics_(*metrics),
        start_ns_(clock->NowNs()),
        called_(FindGrpcMethod(path)) {
    metrics_.Add(MetricId::kGrpcStarted, {called_.service, called_.method, called_.type});
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      metrics_.Add(MetricId::kGrpcReceived, {called_.service, called_.method, called_.type});
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      metrics_.Add(MetricId::kGrpcSent, {called_.service, called_.method, called_.type});
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      metrics_.Add(MetricId::kGrpcHandled, {called_.service, called_.method, called_.type,
                                            GrpcCodeName(methods->GetSendStatus().error_code())});
      metrics_.Observe(MetricId::kGrpcHandlingSeconds,
                       {called_.service, called_.method, called_.type},
                       clock_.SecondsSince(start_ns_));
    }
    methods->Proceed();
  }

 private:
  const Clock& clock_;
  Metrics& metrics_;
  const int64_t start_ns_;
  const GrpcMethod& called_;
};

class CallMeterFactory : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  CallMeterFactory(const Clock* clock, Metrics* metrics) : clock_(*clock), metrics_(*metrics) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new CallMeter(info->method(), &clock_, &metrics_);
  }

 private:
  const Clock& clock_;
  Metrics& metrics_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewGrpcMeter(
    const Clock* clock, Metrics* metrics) {
  return std::make_unique<CallMeterFactory>(clock, metrics);
}

}  // namespace quotient::ops
