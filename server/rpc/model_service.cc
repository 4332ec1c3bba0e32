#include "server/rpc/model_service.h"

#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "core/base/reason.h"
#include "server/jobs/convert.h"
#include "server/rpc/status.h"

namespace quotient::rpc {

grpc::Status ModelService::InspectModel(grpc::ServerContext* context,
                                        const v1::InspectModelRequest* request,
                                        v1::InspectModelResponse* response) {
  const absl::StatusOr<jobs::Manifest> model = jobs::FromProto(request->model());
  if (!model.ok()) return ToGrpc(model.status());
  if (!slots_.TryTake()) {
    return ToGrpc(MakeError(Reason::kQueueFull, "too many models are being inspected"));
  }
  const auto give_back = absl::MakeCleanup([this] { slots_.GiveBack(); });
  absl::StatusOr<std::string> summary =
      runner_.Inspect(*model, request->model_name(), [context] { return !context->IsCancelled(); });
  if (!summary.ok()) return ToGrpc(summary.status());
  response->set_summary_json(*std::move(summary));
  return grpc::Status::OK;
}

}  // namespace quotient::rpc
