#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "quotient/v1/model.grpc.pb.h"
#include "server/jobs/admission.h"
#include "server/rpc/early_handler.h"
#include "server/rpc/stream_slots.h"
#include "server/worker/job_runner.h"

namespace quotient::rpc {

// Implements quotient.v1.ModelService on a runner. Borrows all three.
class ModelService final : public v1::ModelService::Service {
 public:
  ModelService(jobs::Admission* admission, worker::JobRunner* runner, const Clock* clock)
      : admission_(*admission),
        runner_(*runner),
        slots_({.count = kMostCalls, .per_peer = kMostCallsOfPeer},
               "models that are inspected or validated", clock) {
    const auto hand_over_early = [this](auto method) {
      MarkMethodStreamed(NumberOf<v1::ModelService>(method), EarlyHandler(this, method));
    };
    hand_over_early(&ModelService::InspectModel);
    hand_over_early(&ModelService::ValidateModel);
  }

  grpc::Status InspectModel(grpc::ServerContext* context, const v1::InspectModelRequest* request,
                            v1::InspectModelResponse* response) override;
  grpc::Status ValidateModel(grpc::ServerContext* context, const v1::ValidateModelRequest* request,
                             v1::ValidateModelResponse* response) override;

 private:
  absl::StatusOr<v1::ValidateModelResponse> Validate(const v1::ValidateModelRequest& request,
                                                     grpc::ServerContext* context);

  // Concurrent calls: reading a model can take long.
  static constexpr int kMostCalls = 3;
  static constexpr int kMostCallsOfPeer = 2;

  jobs::Admission& admission_;
  worker::JobRunner& runner_;
  StreamSlots slots_;
};

}  // namespace quotient::rpc
