#include "server/rpc/optimizer_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "proto/wire/options.h"
#include "server/jobs/convert.h"
#include "server/rpc/page_token.h"
#include "server/rpc/peer.h"
#include "server/rpc/status.h"
#include "server/rpc/watch_stream.h"

namespace quotient::rpc {
namespace {

constexpr int kDefaultPageSize = 50;
constexpr int kMaxPageSize = 500;
// Clients of gRPC accept messages of 4 MiB by default.
constexpr size_t kMaxPageBytes = size_t{1} << 20;

template <typename Message>
grpc::Status Reply(absl::StatusOr<Message> result, Message* response) {
  if (!result.ok()) return ToGrpc(result.status());
  *response = *std::move(result);
  return grpc::Status::OK;
}

v1::SubmitJobResponse::Disposition DispositionProto(jobs::Disposition disposition) {
  switch (disposition) {
    case jobs::Disposition::kNew:
      return v1::SubmitJobResponse::NEW;
    case jobs::Disposition::kJoined:
      return v1::SubmitJobResponse::JOINED;
    case jobs::Disposition::kCacheHit:
      return v1::SubmitJobResponse::CACHE_HIT;
  }
  return v1::SubmitJobResponse::DISPOSITION_UNSPECIFIED;
}

absl::StatusOr<jobs::SubmitRequest> FromProto(const v1::SubmitJobRequest& message) {
  jobs::SubmitRequest request;
  request.request_id = message.request_id();
  request.skip_cache_lookup = message.skip_cache_lookup();
  request.spec.model_name = message.model_name();
  QUOTIENT_ASSIGN_OR_RETURN(request.spec.model, jobs::FromProto(message.model()));
  request.spec.options = wire::FromProto(message.options());
  if (!message.external_location().empty()) {
    request.spec.external_location = message.external_location();
  }
  return request;
}

}  // namespace

grpc::Status OptimizerService::SubmitJob(grpc::ServerContext* /*context*/,
                                         const v1::SubmitJobRequest* request,
                                         v1::SubmitJobResponse* response) {
  return Reply(Submit(*request), response);
}

absl::StatusOr<v1::SubmitJobResponse> OptimizerService::Submit(
    const v1::SubmitJobRequest& message) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::SubmitRequest request, FromProto(message));
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Admitted admitted, admission_.Submit(request));
  v1::SubmitJobResponse response;
  *response.mutable_job() = jobs::ToProto(admitted.job, hub_.LatestProgress(admitted.job.id));
  response.set_disposition(DispositionProto(admitted.disposition));
  return response;
}

grpc::Status OptimizerService::GetJob(grpc::ServerContext* /*context*/,
                                      const v1::GetJobRequest* request, v1::Job* response) {
  return Reply(Get(*request), response);
}

absl::StatusOr<v1::Job> OptimizerService::Get(const v1::GetJobRequest& request) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string id, jobs::JobIdFromName(request.name()));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<jobs::Job> job, store_.Get(id));
  if (!job.has_value()) {
    return MakeError(Reason::kJobNotFound, absl::StrCat("no job '", Escaped(id), "'"));
  }
  return jobs::ToProto(*job, hub_.LatestProgress(id));
}

grpc::Status OptimizerService::ListJobs(grpc::ServerContext* /*context*/,
                                        const v1::ListJobsRequest* request,
                                        v1::ListJobsResponse* response) {
  return Reply(List(*request), response);
}

absl::StatusOr<v1::ListJobsResponse> OptimizerService::List(const v1::ListJobsRequest& request) {
  if (request.page_size() < 0) return absl::InvalidArgumentError("negative page size");
  jobs::ListQuery query;
  query.state = jobs::FromProto(request.state());
  if (!request.page_token().empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(query.before_number,
                              ReadPageToken(request.page_token(), query.state));
  }
  const int page_size =
      request.page_size() == 0 ? kDefaultPageSize : std::min(request.page_size(), kMaxPageSize);
  query.limit = page_size + 1;  // One more, to see whether there is a next page.
  v1::ListJobsResponse response;
  size_t bytes = 0;
  int64_t last_number = 0;
  QUOTIENT_RETURN_IF_ERROR(store_.List(query, [&](int64_t number, const jobs::Job& job) {
    v1::Job summary = jobs::ToSummary(job, hub_.LatestProgress(job.id));
    bytes += summary.ByteSizeLong();
    if (response.jobs_size() == page_size || (bytes > kMaxPageBytes && response.jobs_size() > 0)) {
      response.set_next_page_token(MakePageToken(last_number, query.state));
      return false;
    }
    last_number = number;
    *response.add_jobs() = std::move(summary);
    return true;
  }));
  return response;
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* OptimizerService::WatchJob(
    grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) {
  auto slot = watches_.TryTake(PeerHost(context->peer()), [context] { context->TryCancel(); });
  return StartWatchStream(*request, std::move(slot), store_, hub_);
}

grpc::Status OptimizerService::CancelJob(grpc::ServerContext* /*context*/,
                                         const v1::CancelJobRequest* request, v1::Job* response) {
  return Reply(Cancel(*request), response);
}

absl::StatusOr<v1::Job> OptimizerService::Cancel(const v1::CancelJobRequest& request) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string id, jobs::JobIdFromName(request.name()));
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, admission_.Cancel(id, request.request_id()));
  return jobs::ToProto(job, hub_.LatestProgress(id));
}

}  // namespace quotient::rpc
