#include "server/rpc/optimizer_service.h"

#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "proto/wire/digest.h"
#include "proto/wire/options.h"
#include "proto/wire/time.h"
#include "server/config/log_format.h"
#include "server/jobs/convert.h"
#include "server/rpc/call_slot.h"
#include "server/rpc/early_handler.h"
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

// What SubmitJob and LookupResult have in common.
template <typename Message>
absl::StatusOr<jobs::JobSpec> SpecOf(const Message& message) {
  jobs::JobSpec spec;
  QUOTIENT_ASSIGN_OR_RETURN(spec.model, jobs::FromProto(message.model()));
  spec.options = wire::FromProto(message.options());
  if (!message.external_location().empty()) spec.external_location = message.external_location();
  return spec;
}

absl::StatusOr<jobs::SubmitRequest> FromProto(const v1::SubmitJobRequest& message) {
  jobs::SubmitRequest request;
  QUOTIENT_ASSIGN_OR_RETURN(request.spec, SpecOf(message));
  QUOTIENT_ASSIGN_OR_RETURN(request.policy, jobs::FromProto(message.policy()));
  request.spec.model_name = message.model_name();
  request.request_id = message.request_id();
  request.skip_cache_lookup = message.skip_cache_lookup();
  return request;
}

absl::StatusOr<jobs::JobFilter> FilterOf(const v1::ListJobsRequest& message) {
  if (message.state() != v1::JOB_STATE_UNSPECIFIED && !jobs::FromProto(message.state())) {
    return absl::InvalidArgumentError("state: there is no such state");
  }
  if (!message.model_sha256().empty() && !Digest::FromHex(message.model_sha256()).has_value()) {
    return MakeError(Reason::kBadDigest, "model_sha256: not 64 lower-case hexadecimal digits");
  }
  jobs::JobFilter filter{.state = jobs::FromProto(message.state()),
                         .client = message.client(),
                         .graph_sha256 = message.model_sha256()};
  if (message.has_created_after()) {
    filter.created_after_ms = wire::UnixMilliseconds(message.created_after());
  }
  if (message.has_created_before()) {
    filter.created_before_ms = wire::UnixMilliseconds(message.created_before());
  }
  return filter;
}

}  // namespace

OptimizerService::OptimizerService(const Limits& limits, jobs::Admission* admission,
                                   jobs::JobStore* store, jobs::WatchHub* hub,
                                   worker::JobRunner* runner, const Clock* clock,
                                   std::function<std::string()> storage_failure)
    : admission_(*admission),
      store_(*store),
      hub_(*hub),
      runner_(*runner),
      storage_failure_(std::move(storage_failure)),
      watches_({.count = limits.watches,
                .per_peer = limits.watches_per_peer,
                .spared_idle_ms = std::nullopt},
               "watched jobs", clock),
      checks_({.count = kMostChecks, .per_peer = 1}, "results that are verified or replayed",
              clock) {
  const auto hand_over_early = [this](auto method) {
    MarkMethodStreamed(NumberOf<v1::OptimizerService>(method), EarlyHandler(this, method));
  };
  hand_over_early(&OptimizerService::SubmitJob);
  hand_over_early(&OptimizerService::LookupResult);
  hand_over_early(&OptimizerService::GetJob);
  hand_over_early(&OptimizerService::ListJobs);
  const int watch_job = NumberOf<v1::OptimizerService, v1::WatchJobRequest>();
  MarkMethodStreamed(watch_job, nullptr);
  MarkMethodCallback(
      watch_job, new grpc::internal::CallbackBidiHandler<v1::WatchJobRequest, v1::WatchJobResponse>(
                     [this](grpc::CallbackServerContext* context) {
                       return StartWatchStream(context, watches_, admission_, store_, hub_);
                     }));
  hand_over_early(&OptimizerService::CancelJob);
  hand_over_early(&OptimizerService::StopJob);
  hand_over_early(&OptimizerService::VerifyResult);
  hand_over_early(&OptimizerService::ReplayJournal);
  hand_over_early(&OptimizerService::DeleteJob);
}

std::optional<Progress> OptimizerService::ProgressOf(const jobs::Job& job) const {
  std::optional<Progress> progress = hub_.LatestProgress(job.id);
  if (job.state != jobs::JobState::kRunning && job.state != jobs::JobState::kCancelling) {
    return progress;
  }
  std::string failure = storage_failure_();
  if (failure.empty()) return progress;
  if (!progress.has_value()) progress.emplace();
  progress->phase = "storage";
  progress->detail = std::move(failure);
  return progress;
}

grpc::Status OptimizerService::SubmitJob(grpc::ServerContext* context,
                                         const v1::SubmitJobRequest* request,
                                         v1::SubmitJobResponse* response) {
  return Reply(Submit(*request, *context), response);
}

absl::StatusOr<v1::SubmitJobResponse> OptimizerService::Submit(const v1::SubmitJobRequest& message,
                                                               const grpc::ServerContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(jobs::SubmitRequest request, FromProto(message));
  request.client = PeerHost(context.peer());
  const auto traceparent = context.client_metadata().find("traceparent");
  if (traceparent != context.client_metadata().end()) {
    request.trace_id = config::TraceIdOf({traceparent->second.data(), traceparent->second.size()});
  }
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Admitted admitted, admission_.Submit(request));
  v1::SubmitJobResponse response;
  *response.mutable_job() = jobs::ToProto(admitted.job, ProgressOf(admitted.job));
  response.set_disposition(DispositionProto(admitted.disposition));
  return response;
}

grpc::Status OptimizerService::LookupResult(grpc::ServerContext* /*context*/,
                                            const v1::LookupResultRequest* request,
                                            v1::Job* response) {
  return Reply(Lookup(*request), response);
}

absl::StatusOr<v1::Job> OptimizerService::Lookup(const v1::LookupResultRequest& request) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::JobSpec spec, SpecOf(request));
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, admission_.Lookup(spec));
  return jobs::ToProto(job, /*progress=*/std::nullopt);
}

grpc::Status OptimizerService::GetJob(grpc::ServerContext* /*context*/,
                                      const v1::GetJobRequest* request, v1::Job* response) {
  return Reply(Get(*request), response);
}

absl::StatusOr<jobs::Job> OptimizerService::Find(const std::string& name) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string id, jobs::JobIdFromName(name));
  return admission_.Get(id);
}

absl::StatusOr<v1::Job> OptimizerService::Get(const v1::GetJobRequest& request) {
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, Find(request.name()));
  return jobs::ToProto(job, ProgressOf(job));
}

grpc::Status OptimizerService::ListJobs(grpc::ServerContext* /*context*/,
                                        const v1::ListJobsRequest* request,
                                        v1::ListJobsResponse* response) {
  return Reply(List(*request), response);
}

absl::StatusOr<v1::ListJobsResponse> OptimizerService::List(const v1::ListJobsRequest& request) {
  if (request.page_size() < 0) return absl::InvalidArgumentError("negative page size");
  jobs::ListQuery query;
  QUOTIENT_ASSIGN_OR_RETURN(query.filter, FilterOf(request));
  if (!request.page_token().empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(query.before_number,
                              ReadPageToken(request.page_token(), query.filter));
  }
  const int page_size =
      request.page_size() == 0 ? kDefaultPageSize : std::min(request.page_size(), kMaxPageSize);
  query.limit = page_size + 1;  // One more, to see whether there is a next page.
  v1::ListJobsResponse response;
  size_t bytes = 0;
  int64_t last_number = 0;
  QUOTIENT_RETURN_IF_ERROR(store_.List(query, [&](int64_t number, const jobs::Job& job) {
    v1::Job summary = jobs::ToSummary(job, ProgressOf(job));
    bytes += summary.ByteSizeLong();
    if (response.jobs_size() == page_size || (bytes > kMaxPageBytes && response.jobs_size() > 0)) {
      response.set_next_page_token(MakePageToken(last_number, query.filter));
      return false;
    }
    last_number = number;
    *response.add_jobs() = std::move(summary);
    return true;
  }));
  return response;
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

grpc::Status OptimizerService::StopJob(grpc::ServerContext* /*context*/,
                                       const v1::StopJobRequest* request, v1::Job* response) {
  return Reply(Stop(*request), response);
}

absl::StatusOr<v1::Job> OptimizerService::Stop(const v1::StopJobRequest& request) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string id, jobs::JobIdFromName(request.name()));
  QUOTIENT_ASSIGN_OR_RETURN(const jobs::Job job, admission_.Stop(id, request.request_id()));
  return jobs::ToProto(job, hub_.LatestProgress(id));
}

absl::StatusOr<jobs::Job> OptimizerService::FindWithResult(const std::string& name) {
  QUOTIENT_ASSIGN_OR_RETURN(jobs::Job job, Find(name));
  if (job.result.has_value()) return job;
  return MakeError(Reason::kJobNotFinished, absl::StrCat(name, " has no result"));
}

absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> OptimizerService::BeginCheck(
    grpc::ServerContext* context, jobs::Job* job) {
  QUOTIENT_ASSIGN_OR_RETURN(auto slot, TakeSlot(context, checks_));
  optimize::Options& options = job->spec.options;
  options.threads = std::max(1, options.ThreadsToUse() / kPartsOfThreads);
  return slot;
}

grpc::Status OptimizerService::VerifyResult(grpc::ServerContext* context,
                                            const v1::VerifyResultRequest* request,
                                            v1::VerifyResultResponse* response) {
  return Reply(Verify(*request, context), response);
}

absl::StatusOr<v1::VerifyResultResponse> OptimizerService::Verify(
    const v1::VerifyResultRequest& request, grpc::ServerContext* context) {
  QUOTIENT_ASSIGN_OR_RETURN(jobs::Job job, FindWithResult(request.name()));
  if (request.has_seed()) job.spec.options.seed = request.seed();
  if (request.has_verify_inputs()) job.spec.options.verify_inputs = request.verify_inputs();
  QUOTIENT_RETURN_IF_ERROR(job.spec.options.Validate());
  QUOTIENT_ASSIGN_OR_RETURN(const auto slot, BeginCheck(context, &job));
  QUOTIENT_ASSIGN_OR_RETURN(const worker::Verification verification,
                            runner_.Verify(job, [context] { return !context->IsCancelled(); }));
  v1::VerifyResultResponse response;
  response.set_is_same(verification.is_same);
  response.set_comparison_json(verification.comparison_json);
  return response;
}

grpc::Status OptimizerService::ReplayJournal(grpc::ServerContext* context,
                                             const v1::ReplayJournalRequest* request,
                                             v1::ReplayJournalResponse* response) {
  return Reply(Replay(*request, context), response);
}

absl::StatusOr<v1::ReplayJournalResponse> OptimizerService::Replay(
    const v1::ReplayJournalRequest& request, grpc::ServerContext* context) {
  QUOTIENT_ASSIGN_OR_RETURN(jobs::Job job, FindWithResult(request.name()));
  QUOTIENT_ASSIGN_OR_RETURN(const auto slot, BeginCheck(context, &job));
  const absl::StatusOr<worker::Replay> replayed =
      runner_.Replay(job, [context] { return !context->IsCancelled(); });
  // The server made it, so that it is of no use is no mistake of the client.
  if (GetReason(replayed.status()) == Reason::kJournalInvalid) {
    return MakeError(Reason::kInternal, replayed.status().message());
  }
  QUOTIENT_ASSIGN_OR_RETURN(const worker::Replay replay, replayed);
  v1::ReplayJournalResponse response;
  *response.mutable_model() = wire::ToProto(replay.model);
  response.set_is_result(replay.is_result);
  response.set_rewrites(replay.rewrites);
  response.mutable_conditions()->Add(replay.conditions.begin(), replay.conditions.end());
  return response;
}

grpc::Status OptimizerService::DeleteJob(grpc::ServerContext* /*context*/,
                                         const v1::DeleteJobRequest* request,
                                         v1::DeleteJobResponse* response) {
  return Reply(Delete(*request), response);
}

absl::StatusOr<v1::DeleteJobResponse> OptimizerService::Delete(
    const v1::DeleteJobRequest& request) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string id, jobs::JobIdFromName(request.name()));
  QUOTIENT_RETURN_IF_ERROR(admission_.Delete(id, request.allow_missing()));
  return v1::DeleteJobResponse();
}

}  // namespace quotient::rpc
