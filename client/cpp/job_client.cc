#include "client/cpp/job_client.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace quotient::client {
namespace {

// The server gives up before that.
constexpr absl::Duration kVerifyTime = absl::Minutes(11);

// Makes a call that is about one job.
template <typename Response, typename Request>
absl::StatusOr<Response> Ask(const Connection& connection, v1::OptimizerService::Stub& stub,
                             grpc::Status (v1::OptimizerService::Stub::*method)(
                                 grpc::ClientContext*, const Request&, Response*),
                             const Request& request) {
  return connection.Unary<Response>(
      request, [&stub, method](auto* context, const auto& message, auto* response) {
        return (stub.*method)(context, message, response);
      });
}

}  // namespace

using Stub = v1::OptimizerService::Stub;

absl::StatusOr<v1::SubmitJobResponse> JobClient::Submit(const v1::SubmitJobRequest& request) {
  return Ask(connection_, *stub_, &Stub::SubmitJob, request);
}

absl::StatusOr<v1::Job> JobClient::Lookup(const v1::LookupResultRequest& request) {
  return Ask(connection_, *stub_, &Stub::LookupResult, request);
}

absl::StatusOr<v1::Job> JobClient::Get(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  return Ask(connection_, *stub_, &Stub::GetJob, request);
}

absl::StatusOr<v1::Job> JobClient::Cancel(const std::string& name, const std::string& request_id) {
  v1::CancelJobRequest request;
  request.set_name(name);
  request.set_request_id(request_id);
  return Ask(connection_, *stub_, &Stub::CancelJob, request);
}

absl::StatusOr<v1::Job> JobClient::Stop(const std::string& name) {
  v1::StopJobRequest request;
  request.set_name(name);
  return Ask(connection_, *stub_, &Stub::StopJob, request);
}

absl::Status JobClient::Delete(const std::string& name) {
  v1::DeleteJobRequest request;
  request.set_name(name);
  const auto attempt = [&](auto* context, const auto& /*message*/, auto* response) {
    const grpc::Status status = stub_->DeleteJob(context, request, response);
    // If the attempt failed, only its answer may have been lost.
    request.set_allow_missing(true);
    return status;
  };
  return connection_.Unary<v1::DeleteJobResponse>(request, attempt).status();
}

absl::StatusOr<std::vector<v1::Job>> JobClient::List(v1::ListJobsRequest request, int limit) {
  std::vector<v1::Job> jobs;
  do {
    request.set_page_size(limit - static_cast<int>(jobs.size()));
    QUOTIENT_ASSIGN_OR_RETURN(
        const auto page, (connection_.Unary<v1::ListJobsResponse>(
                             request, [this](auto* context, const auto& message, auto* response) {
                               return stub_->ListJobs(context, message, response);
                             })));
    jobs.insert(jobs.end(), page.jobs().begin(), page.jobs().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && static_cast<int>(jobs.size()) < limit);
  return jobs;
}

absl::StatusOr<std::string> JobClient::Inspect(const v1::InspectModelRequest& request) {
  QUOTIENT_ASSIGN_OR_RETURN(auto response,
                            (connection_.Unary<v1::InspectModelResponse>(
                                request, [this](auto* context, const auto& message, auto* answer) {
                                  return models_->InspectModel(context, message, answer);
                                })));
  return std::move(*response.mutable_summary_json());
}

absl::StatusOr<v1::ValidateModelResponse> JobClient::Validate(
    const v1::ValidateModelRequest& request) {
  return connection_.Unary<v1::ValidateModelResponse>(
      request, [this](auto* context, const auto& message, auto* response) {
        return models_->ValidateModel(context, message, response);
      });
}

absl::StatusOr<v1::VerifyResultResponse> JobClient::Verify(const v1::VerifyResultRequest& request) {
  return connection_.Unary<v1::VerifyResultResponse>(
      request,
      [this](auto* context, const auto& message, auto* response) {
        return stub_->VerifyResult(context, message, response);
      },
      kVerifyTime);
}

absl::StatusOr<v1::ReplayJournalResponse> JobClient::Replay(
    const v1::ReplayJournalRequest& request) {
  return connection_.Unary<v1::ReplayJournalResponse>(
      request,
      [this](auto* context, const auto& message, auto* response) {
        return stub_->ReplayJournal(context, message, response);
      },
      kVerifyTime);
}

absl::StatusOr<v1::Job> JobClient::Watch(const std::string& name, OnEvent on_event) {
  Retry retry = connection_.NewRetry();
  v1::Job job;
  absl::Status status;
  do {
    status = ReadStream(name, on_event, &retry, &job);
    if (status.ok() && !IsTerminal(job.state())) {
      status = absl::UnavailableError("the stream ended before the job");
    }
  } while (retry.Again(status));
  if (!status.ok()) return connection_.Annotated(status);
  return job;
}

absl::Status JobClient::ReadStream(const std::string& name, OnEvent on_event, Retry* retry,
                                   v1::Job* job) {
  grpc::ClientContext context;
  const Interrupt::Handler cancel(&connection_.interrupt(), [&context] { context.TryCancel(); });
  v1::WatchJobRequest request;
  request.set_name(name);
  request.set_from_sequence(job->sequence());
  const auto reader = stub_->WatchJob(&context, request);
  v1::WatchJobResponse response;
  while (reader->Read(&response)) {
    retry->Progressed();
    if (response.has_snapshot()) {
      // The transitions that led to it follow the snapshot. The sequence stays at the last one
      // received, so that they are not skipped if the stream is lost again.
      const int64_t seen = job->sequence();
      *job = response.snapshot();
      if (!IsTerminal(job->state())) job->set_sequence(seen);
    }
    if (response.has_transition()) job->set_sequence(response.transition().sequence());
    on_event(response);
  }
  return FromGrpc(reader->Finish());
}

bool IsTerminal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

std::string StateName(v1::JobState state) {
  const std::string name = v1::JobState_Name(state);
  return std::string(absl::StripPrefix(name, "JOB_STATE_"));
}

std::vector<std::string> StateOptions() {
  std::vector<std::string> names;
  for (int value = v1::JOB_STATE_UNSPECIFIED + 1; value < v1::JobState_ARRAYSIZE; ++value) {
    names.push_back(absl::AsciiStrToLower(StateName(static_cast<v1::JobState>(value))));
  }
  return names;
}

}  // namespace quotient::client
