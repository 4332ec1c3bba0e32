#include "server/rpc/model_service.h"

#include <string>
#include <utility>

#include "core/base/status_macros.h"
#include "proto/wire/options.h"
#include "proto/wire/validation.h"
#include "server/jobs/convert.h"
#include "server/rpc/call_slot.h"
#include "server/rpc/status.h"

namespace quotient::rpc {

grpc::Status ModelService::InspectModel(grpc::ServerContext* context,
                                        const v1::InspectModelRequest* request,
                                        v1::InspectModelResponse* response) {
  const absl::StatusOr<jobs::Manifest> model = jobs::FromProto(request->model());
  if (!model.ok()) return ToGrpc(model.status());
  const auto slot = TakeSlot(context, slots_);
  if (!slot.ok()) return ToGrpc(slot.status());
  absl::StatusOr<std::string> summary =
      runner_.Inspect(*model, request->model_name(), [context] { return !context->IsCancelled(); });
  if (!summary.ok()) return ToGrpc(summary.status());
  response->set_summary_json(*std::move(summary));
  return grpc::Status::OK;
}

grpc::Status ModelService::ValidateModel(grpc::ServerContext* context,
                                         const v1::ValidateModelRequest* request,
                                         v1::ValidateModelResponse* response) {
  absl::StatusOr<v1::ValidateModelResponse> answer = Validate(*request, context);
  if (!answer.ok()) return ToGrpc(answer.status());
  *response = *std::move(answer);
  return grpc::Status::OK;
}

absl::StatusOr<v1::ValidateModelResponse> ModelService::Validate(
    const v1::ValidateModelRequest& request, grpc::ServerContext* context) {
  jobs::JobSpec spec{.model_name = request.model_name()};
  QUOTIENT_ASSIGN_OR_RETURN(spec.model, jobs::FromProto(request.model()));
  spec.options = wire::FromProto(request.options());
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, admission_.Validate(spec));
  QUOTIENT_ASSIGN_OR_RETURN(const auto slot, TakeSlot(context, slots_));
  QUOTIENT_ASSIGN_OR_RETURN(
      const optimize::Validation validation,
      runner_.Validate(job.spec, [context] { return !context->IsCancelled(); }));
  return wire::ToProto(validation);
}

}  // namespace quotient::rpc
