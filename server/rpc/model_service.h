#pragma once

#include "absl/status/statusor.h"
#include "quotient/v1/model.grpc.pb.h"
#include "server/jobs/admission.h"
#include "server/rpc/call_slots.h"
#include "server/worker/job_runner.h"

namespace quotient::rpc {

// Implements quotient.v1.ModelService on a runner. Borrows both.
class ModelService final : public v1::ModelService::Service {
 public:
  ModelService(jobs::Admission* admission, worker::JobRunner* runner)
      : admission_(*admission), runner_(*runner) {}

  grpc::Status InspectModel(grpc::ServerContext* context, const v1::InspectModelRequest* request,
                            v1::InspectModelResponse* response) override;
  grpc::Status ValidateModel(grpc::ServerContext* context, const v1::ValidateModelRequest* request,
                             v1::ValidateModelResponse* response) override;

 private:
  absl::StatusOr<v1::ValidateModelResponse> Validate(const v1::ValidateModelRequest& request,
                                                     grpc::ServerContext* context);

  static constexpr int kMaxCalls = 2;  // Concurrent calls: reading a model can take long.

  jobs::Admission& admission_;
  worker::JobRunner& runner_;
  CallSlots slots_{kMaxCalls};
};

}  // namespace quotient::rpc
