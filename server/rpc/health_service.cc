#include "server/rpc/health_service.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "server/rpc/call_slot.h"
#include "server/rpc/status.h"

namespace quotient::rpc {
namespace {

using HealthReactor = grpc::ServerBidiReactor<HealthService::Request, HealthService::Response>;

// As gRPC's own service has it. The name is kept as long as its watch.
constexpr size_t kMaxNameBytes = 200;

absl::Status CheckRequest(bool came, const HealthService::Request& request) {
  if (!came) return absl::InvalidArgumentError("there is no request, or none that can be read");
  if (request.value().size() <= kMaxNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError("service: a name of more than 200 bytes");
}

}  // namespace

// One call of Check. Deletes itself.
class HealthService::Check : public HealthReactor {
 public:
  explicit Check(HealthService* service) : service_(*service) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    absl::Status status = CheckRequest(ok, request_);
    if (status.ok()) {
      absl::MutexLock lock(&service_.mutex_);
      const HealthService::Status answer = service_.StatusOf(request_.value());
      if (answer == kUnknown) status = absl::NotFoundError("service: there is none of this name");
      response_.set_value(answer);
    }
    if (!status.ok()) return Finish(ToGrpc(status));
    StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  HealthService& service_;
  Request request_;
  Response response_;
};

// One stream of Watch. Deletes itself. The request and the slot are written before the service
// knows the watch; its mutex guards all else.
class HealthService::Watch : public HealthReactor {
 public:
  Watch(HealthService* service, grpc::CallbackServerContext* context)
      : service_(*service), context_(context) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    const absl::Status status = Prepare(ok);
    absl::MutexLock lock(&service_.mutex_);
    if (!status.ok()) return End(status);
    place_ = service_.watches_.insert(service_.watches_.end(), this);
    Tell();
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&service_.mutex_);
    writing_ = false;
    if (!ok) return End(absl::CancelledError("the client is gone"));
    Tell();
  }

  void OnCancel() override {
    absl::MutexLock lock(&service_.mutex_);
    End(absl::CancelledError("the client is gone"));
  }

  void OnDone() override {
    {
      absl::MutexLock lock(&service_.mutex_);
      if (place_.has_value()) service_.watches_.erase(*place_);
    }
    delete this;
  }

  // Writes the present status if the client does not know it, and may be written to. The service's
  // mutex must be held.
  void Tell() {
    service_.mutex_.AssertHeld();  // The analysis does not see whose watch it is.
    if (service_.closed_) return End(MakeError(Reason::kDraining, "the server is shutting down"));
    const HealthService::Status status = service_.StatusOf(request_.value());
    if (writing_ || ended_ || status == response_.value()) return;
    writing_ = true;
    response_.set_value(status);
    StartWrite(&response_);
  }

 private:
  absl::Status Prepare(bool came) {
    QUOTIENT_RETURN_IF_ERROR(CheckRequest(came, request_));
    QUOTIENT_ASSIGN_OR_RETURN(slot_, TakeSlot(context_, service_.slots_));
    slot_->BeginToWait();
    return absl::OkStatus();
  }

  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(service_.mutex_) {
    if (!std::exchange(ended_, true)) Finish(ToGrpc(status));
  }

  HealthService& service_;
  grpc::CallbackServerContext* const context_;
  Request request_;                          // Belongs to gRPC until OnReadDone.
  std::unique_ptr<StreamSlots::Slot> slot_;  // Set by OnReadDone.
  Response response_;  // What was written last. Belongs to gRPC while writing_.
  bool writing_ ABSL_GUARDED_BY(service_.mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(service_.mutex_) = false;
  std::optional<std::list<Watch*>::iterator> place_ ABSL_GUARDED_BY(service_.mutex_);
};

HealthService::HealthService(const SlotLimits& watches, const Clock* clock)
    : slots_(watches, "streams of grpc.health.v1.Health/Watch", clock) {
  using Handler = grpc::internal::CallbackBidiHandler<Request, Response>;
  // As streams in both directions, they are handed over before their request (early_handler.h).
  const auto add = [this](const char* path, Handler* handler) {
    AddMethod(new grpc::internal::RpcServiceMethod(path, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                   nullptr));
    return handler;
  };
  MarkMethodCallback(0, add("/grpc.health.v1.Health/Check",
                            new Handler([this](grpc::CallbackServerContext* /*context*/) {
                              return new Check(this);
                            })));
  MarkMethodCallback(
      1, add("/grpc.health.v1.Health/Watch",
             new Handler([this](grpc::CallbackServerContext* c) { return new Watch(this, c); })));
}

HealthService::Status HealthService::StatusOf(const std::string& name) const {
  const auto found = services_.find(name);
  return found == services_.end() ? kUnknown : found->second;
}

void HealthService::SetServing(const std::string& name, bool serving) {
  absl::MutexLock lock(&mutex_);
  services_[name] = serving ? kServing : kNotServing;
  for (Watch* const watch : watches_) watch->Tell();
}

void HealthService::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  for (Watch* const watch : watches_) watch->Tell();
}

}  // namespace quotient::rpc
