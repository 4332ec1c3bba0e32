#include "tests/bench/service/calls.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "proto/wire/digest.h"

namespace quotient::bench {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

}  // namespace

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address, bool is_slow) {
  grpc::ChannelArguments arguments;
  // Otherwise all channels of a process to one address share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1);
  if (is_slow) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 5);  // The least that gRPC takes.
  }
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status Upload(v1::BlobService::Stub& stub, const BlobId& id, absl::string_view bytes,
                    absl::Duration pause) {
  v1::StartUploadRequest start;
  *start.mutable_blob() = wire::ToProto(id);
  QUOTIENT_ASSIGN_OR_RETURN(const auto ticket,
                            Call(stub, &v1::BlobService::Stub::StartUpload, start));
  if (ticket.done()) return absl::OkStatus();
  grpc::ClientContext context;
  v1::UploadResponse response;
  const auto writer = stub.Upload(&context, &response);
  v1::UploadRequest request;
  request.mutable_header()->set_upload_id(ticket.upload_id());
  request.mutable_header()->set_offset(ticket.committed_offset());
  bool open = writer->Write(request);
  absl::string_view rest = bytes.substr(static_cast<size_t>(ticket.committed_offset()));
  while (open && !rest.empty()) {
    const absl::string_view chunk = rest.substr(0, kChunkBytes);
    request.set_data(chunk.data(), chunk.size());
    open = writer->Write(request);
    rest.remove_prefix(chunk.size());
    absl::SleepFor(pause);
  }
  request.set_finish(true);
  if (open && writer->Write(request)) writer->WritesDone();
  return client::FromGrpc(writer->Finish());
}

v1::SubmitJobRequest CheapJob(const v1::ModelManifest& model, uint64_t seed) {
  v1::SubmitJobRequest request;
  *request.mutable_model() = model;
  v1::OptimizeOptions& options = *request.mutable_options();
  options.set_device("model:h200");
  options.set_threads(1);
  options.set_budget_seconds(10);
  options.set_max_simulations(1);
  options.set_verify_inputs(1);
  options.set_seed(seed);
  return request;
}

absl::StatusOr<v1::Job> AwaitEnd(v1::OptimizerService::Stub& stub, const std::string& name) {
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_name(name);
  const auto reader = stub.WatchJob(&context, request);
  v1::WatchJobResponse response;
  v1::Job job;
  while (reader->Read(&response)) {
    if (response.has_snapshot()) job = response.snapshot();
  }
  QUOTIENT_RETURN_IF_ERROR(client::FromGrpc(reader->Finish()));
  return job;
}

}  // namespace quotient::bench
