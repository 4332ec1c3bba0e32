#pragma once

// Jobs on a server.

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

  // The request needs a request id, so that repeating it is safe.
  absl::StatusOr<v1::SubmitJobResponse> Submit(const v1::SubmitJobRequest& request);
  absl::StatusOr<v1::Job> Get(const std::string& name);
  absl::StatusOr<v1::Job> Cancel(const std::string& name, const std::string& request_id);
  // The newest jobs, at most `limit`.
  absl::StatusOr<std::vector<v1::Job>> List(v1::JobState state, int limit);
  absl::StatusOr<std::string> Inspect(const v1::ModelManifest& model);

  // Blocks until the job has ended and returns it. Attaches again when the stream is lost: the job
  // goes on without us. CANCELLED when the interrupt goes off; the job is not touched.
  absl::StatusOr<v1::Job> Watch(const std::string& name, OnEvent on_event);

 private:
  // Reads one stream to its end. `job` is the latest snapshot; its sequence follows transitions.
  absl::Status ReadStream(const std::string& name, OnEvent on_event, Retry* retry, v1::Job* job);

  const Connection& connection_;
  const std::unique_ptr<v1::OptimizerService::Stub> stub_;
  const std::unique_ptr<v1::ModelService::Stub> models_;
};

bool IsTerminal(v1::JobState state);

// "QUEUED", "RUNNING", ...
std::string StateName(v1::JobState state);

}  // namespace quotient::client
