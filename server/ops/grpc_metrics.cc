#include "server/ops/grpc_metrics.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace quotient::ops {
namespace {

using grpc::experimental::InterceptionHookPoints;

// One call. gRPC runs the hooks of a call one after the other.
class CallMeter : public grpc::experimental::Interceptor {
 public:
  CallMeter(absl::string_view method, const Clock* clock, Metrics* metrics)
      : clock_(*clock), metrics_(*metrics), start_ns_(clock->NowNs()) {
    absl::ConsumePrefix(&method, "/");
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(method, '/');
    service_ = std::string(parts.first);
    method_ = std::string(parts.second);
    metrics_.Add(MetricId::kGrpcStarted, {service_, method_});
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      metrics_.Add(MetricId::kGrpcReceived, {service_, method_});
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      metrics_.Add(MetricId::kGrpcSent, {service_, method_});
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const auto code = static_cast<absl::StatusCode>(methods->GetSendStatus().error_code());
      metrics_.Add(MetricId::kGrpcHandled, {service_, method_, absl::StatusCodeToString(code)});
      metrics_.Observe(MetricId::kGrpcHandlingSeconds, {service_, method_},
                       clock_.SecondsSince(start_ns_));
    }
    methods->Proceed();
  }

 private:
  const Clock& clock_;
  Metrics& metrics_;
  const int64_t start_ns_;
  std::string service_;
  std::string method_;
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
