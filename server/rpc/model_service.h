#pragma once

#include "quotient/v1/model.grpc.pb.h"
#include "server/rpc/call_slots.h"
#include "server/worker/job_runner.h"

namespace quotient::rpc {

// Implements quotient.v1.ModelService on a runner, which is borrowed.
class ModelService final : public v1::ModelService::Service {
 public:
  explicit ModelService(worker::JobRunner* runner) : runner_(*runner) {}

  grpc::Status InspectModel(grpc::ServerContext* context, const v1::InspectModelRequest* request,
                            v1::InspectModelResponse* response) override;

 private:
  static constexpr int kMaxCalls = 2;  // Concurrent calls: reading a model can take long.

  worker::JobRunner& runner_;
  CallSlots slots_{kMaxCalls};
};

}  // namespace quotient::rpc
