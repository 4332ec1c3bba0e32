#pragma once

// What the load programs of this folder share: connections of their own, calls, uploads, and jobs
// that cost next to nothing.

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cpp/status.h"
#include "core/base/blob_id.h"
#include "quotient/v1/blob.grpc.pb.h"
#include "quotient/v1/optimizer.grpc.pb.h"

namespace quotient::bench {

// A channel with a connection of its own. If `is_slow`, the server may send no more than a few
// bytes of a message before somebody reads it.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& address, bool is_slow = false);

struct Stubs {
  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
      : blobs(v1::BlobService::NewStub(channel)), jobs(v1::OptimizerService::NewStub(channel)) {}

  const std::unique_ptr<v1::BlobService::Stub> blobs;
  const std::unique_ptr<v1::OptimizerService::Stub> jobs;
};

// Makes a unary call, which may take a minute.
template <typename Response, typename Stub, typename Request>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  Response response;
  const absl::Status status = client::FromGrpc((stub.*method)(&context, request, &response));
  if (!status.ok()) return status;
  return response;
}

// Sends a blob, in one attempt, with a pause after each megabyte.
absl::Status Upload(v1::BlobService::Stub& stub, const BlobId& id, absl::string_view bytes,
                    absl::Duration pause = absl::ZeroDuration());

// A job that simulates one step of a search and measures nothing. Seeds make jobs different.
v1::SubmitJobRequest CheapJob(const v1::ModelManifest& model, uint64_t seed);

// Waits until the job has ended. Returns its last snapshot.
absl::StatusOr<v1::Job> AwaitEnd(v1::OptimizerService::Stub& stub, const std::string& name);

}  // namespace quotient::bench
