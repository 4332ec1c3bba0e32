#include "server/ops/grpc_metrics.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"

namespace quotient::ops {
namespace {

using grpc::experimental::InterceptionHookPoints;

struct CallLabels {
  std::string service;
  std::string method;
};

// The health service of gRPC itself has no descriptor in the pool.
bool IsHealth(absl::string_view service, absl::string_view method) {
  return service == "grpc.health.v1.Health" && (method == "Check" || method == "Watch");
}

// Returns the labels for a method's path, "/SERVICE/METHOD". Calls of unknown methods get fixed
// labels: their names are chosen by the caller, and each would add a series of its own for ever.
CallLabels LabelsOf(absl::string_view path) {
  absl::ConsumePrefix(&path, "/");
  const size_t slash = path.find('/');
  if (slash == absl::string_view::npos) return {"unknown", "unknown"};
  const absl::string_view service = path.substr(0, slash), method = path.substr(slash + 1);
  const std::string full_name = absl::StrCat(service, ".", method);
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  if (!IsHealth(service, method) && pool->FindMethodByName(full_name) == nullptr) {
    return {"unknown", "unknown"};
  }
  return {std::string(service), std::string(method)};
}

// Measures one call. gRPC runs the hooks of a call one after the other.
class CallMeter : public grpc::experimental::Interceptor {
 public:
  CallMeter(absl::string_view path, const Clock* clock, Metrics* metrics)
      : clock_(*clock), metrics_(*metrics), start_ns_(clock->NowNs()), labels_(LabelsOf(path)) {
    metrics_.Add(MetricId::kGrpcStarted, {labels_.service, labels_.method});
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      metrics_.Add(MetricId::kGrpcReceived, {labels_.service, labels_.method});
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      metrics_.Add(MetricId::kGrpcSent, {labels_.service, labels_.method});
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const auto code = static_cast<absl::StatusCode>(methods->GetSendStatus().error_code());
      metrics_.Add(MetricId::kGrpcHandled,
                   {labels_.service, labels_.method, absl::StatusCodeToString(code)});
      metrics_.Observe(MetricId::kGrpcHandlingSeconds, {labels_.service, labels_.method},
                       clock_.SecondsSince(start_ns_));
    }
    methods->Proceed();
  }

 private:
  const Clock& clock_;
  Metrics& metrics_;
  const int64_t start_ns_;
  const CallLabels labels_;
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
