#pragma once

// Calls for jobs and models on a server.

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/cpp/connection.h"
#include "quotient/v1/model.grpc.pb.h"
#include "quotient/v1/optimizer.grpc.pb.h"

namespace quotient::client {

// Thread-safe.
class JobClient {
 public:
  using OnEvent = absl::FunctionRef<void(const v1::WatchJobResponse&)>;

  // Borrows the connection.
  explicit JobClient(const Connection* connection)
      : connection_(*connection),
        stub_(v1::OptimizerService::NewStub(connection->channel())),
        models_(v1::ModelService::NewStub(connection->channel())) {}

  // Submits a job. The request must have a request id, so that it can be repeated safely.
  absl::StatusOr<v1::SubmitJobResponse> Submit(const v1::SubmitJobRequest& request);
  // Returns the job that has the result already, or RESULT_NOT_FOUND. Starts no work.
  absl::StatusOr<v1::Job> Lookup(const v1::LookupResultRequest& request);
  absl::StatusOr<v1::Job> Get(const std::string& name);
  absl::StatusOr<v1::Job> Cancel(const std::string& name, const std::string& request_id);
  // Tells a job to finish with the best result that it has.
  absl::StatusOr<v1::Job> Stop(const std::string& name);
  // Removes a job that has ended.
  absl::Status Delete(const std::string& name);
  // Returns the newest jobs that the filter of `request` lets through, at most `limit`.
  absl::StatusOr<std::vector<v1::Job>> List(v1::ListJobsRequest request, int limit);
  absl::StatusOr<std::string> Inspect(const v1::InspectModelRequest& request);
  absl::StatusOr<v1::ValidateModelResponse> Validate(const v1::ValidateModelRequest& request);
  absl::StatusOr<v1::VerifyResultResponse> Verify(const v1::VerifyResultRequest& request);
  absl::StatusOr<v1::ReplayJournalResponse> Replay(const v1::ReplayJournalRequest& request);

  // Blocks until the job has ended and returns it. The events tell all changes of its state, those
  // before the call, too: the last one says why the job is where it is. Reconnects when the stream
  // is lost, since the job continues. Returns CANCELLED when the interrupt is triggered, which does
  // not cancel the job.
  absl::StatusOr<v1::Job> Watch(const std::string& name, OnEvent on_event);

 private:
  // Reads one stream to its end. Sets `job` to the latest snapshot, and its sequence to that of the
  // latest transition.
  absl::Status ReadStream(const std::string& name, OnEvent on_event, Retry* retry, v1::Job* job);

  const Connection& connection_;
  const std::unique_ptr<v1::OptimizerService::Stub> stub_;
  const std::unique_ptr<v1::ModelService::Stub> models_;
};

bool IsTerminal(v1::JobState state);

// Returns "QUEUED", "RUNNING", ...
std::string StateName(v1::JobState state);
// The names of all states in lower case, as options have them: "queued", "running", ...
std::vector<std::string> StateOptions();

}  // namespace quotient::client
