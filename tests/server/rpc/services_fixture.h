#pragma once

// A server in this process, and clients of its services.

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>

#include <memory>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "proto/wire/digest.h"
#include "proto/wire/status.h"
#include "tests/server/support/in_process_server.h"

namespace quotient::rpc {

inline absl::Status Status(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  return status.ok() ? absl::OkStatus() : wire::FromProto(details);
}

class ServicesTest : public testing::ServerTest {
 protected:
  ServicesTest() {
    const auto channel = grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
    blobs_stub_ = v1::BlobService::NewStub(channel);
    jobs_stub_ = v1::OptimizerService::NewStub(channel);
    models_stub_ = v1::ModelService::NewStub(channel);
  }

  v1::SubmitJobRequest SubmitRequest(absl::string_view model) {
    v1::SubmitJobRequest request;
    *request.mutable_model()->mutable_graph() = wire::ToProto(MustPut(model));
    return request;
  }

  v1::Job Submit(absl::string_view model) {
    grpc::ClientContext context;
    v1::SubmitJobResponse response;
    EXPECT_OK(Status(jobs_stub_->SubmitJob(&context, SubmitRequest(model), &response)));
    return response.job();
  }

  // All that a watcher sees, as words: "snapshot RUNNING", "to SUCCEEDED", "progress".
  std::vector<std::string> WatchToTheEnd(const v1::WatchJobRequest& request) {
    grpc::ClientContext context;
    std::vector<std::string> seen;
    const auto reader = jobs_stub_->WatchJob(&context, request);
    v1::WatchJobResponse response;
    while (reader->Read(&response)) {
      if (response.has_snapshot()) {
        seen.push_back("snapshot " + v1::JobState_Name(response.snapshot().state()).substr(10));
      } else if (response.has_transition()) {
        seen.push_back("to " + v1::JobState_Name(response.transition().to()).substr(10));
      } else if (response.has_progress() && (seen.empty() || seen.back() != "progress")) {
        seen.push_back("progress");
      }
      if (seen.back() == "progress") runner_.Release();
    }
    EXPECT_OK(Status(reader->Finish()));
    return seen;
  }

  // Calls a method by its path, with a request whose first field is `text`.
  grpc::Status Call(const char* path, google::protobuf::MessageLite* response,
                    const std::string& text = "") {
    const auto channel = grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
    grpc::ClientContext context;
    google::protobuf::StringValue request;
    request.set_value(text);
    const grpc::internal::RpcMethod method(path, grpc::internal::RpcMethod::NORMAL_RPC);
    return grpc::internal::BlockingUnaryCallImpl<google::protobuf::MessageLite,
                                                 google::protobuf::MessageLite>(
               channel.get(), method, &context, request, response)
        .status();
  }

  std::unique_ptr<v1::BlobService::Stub> blobs_stub_;
  std::unique_ptr<v1::OptimizerService::Stub> jobs_stub_;
  std::unique_ptr<v1::ModelService::Stub> models_stub_;
};

}  // namespace quotient::rpc
