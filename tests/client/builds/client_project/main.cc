// submits ADDRESS MODEL.onnx OUT.onnx: has a server optimize a model for an H200, and writes the
// result.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "client/cpp/blob_client.h"
#include "client/cpp/connection.h"
#include "client/cpp/interrupt.h"
#include "client/cpp/job_client.h"
#include "proto/wire/digest.h"
#include "proto/wire/status.h"

namespace {

using quotient::BlobId;

absl::StatusOr<std::string> Optimize(const std::string& address, const std::string& model) {
  quotient::client::Interrupt interrupt;
  auto connection = quotient::client::Connection::Open(
      {.address = address, .first_patience = absl::Seconds(1)}, &interrupt);
  if (!connection.ok()) return connection.status();
  quotient::client::BlobClient blobs(connection->get());
  quotient::client::JobClient jobs(connection->get());

  const BlobId id = BlobId::Of(model);
  if (const absl::Status sent = blobs.Upload(id, model); !sent.ok()) return sent;
  quotient::v1::SubmitJobRequest request;
  request.set_request_id("the only one");
  *request.mutable_model()->mutable_graph() = quotient::wire::ToProto(id);
  request.mutable_options()->set_device("model:h200");
  const auto submitted = jobs.Submit(request);
  if (!submitted.ok()) return submitted.status();

  const auto job =
      jobs.Watch(submitted->job().name(), [](const quotient::v1::WatchJobResponse&) {});
  if (!job.ok()) return job.status();
  if (job->has_error()) return quotient::wire::FromProto(job->error());
  const auto result = quotient::wire::FromProto(job->result().model());
  if (!result.ok()) return result.status();
  std::string bytes;
  const absl::Status received = blobs.Download(*result, [&bytes](absl::string_view part) {
    bytes.append(part.data(), part.size());
    return absl::OkStatus();
  });
  if (!received.ok()) return received;
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::ifstream file(argv[2], std::ios::binary);
  const std::string model{std::istreambuf_iterator<char>(file), {}};
  const absl::StatusOr<std::string> result = Optimize(argv[1], model);
  if (!result.ok()) {
    std::cerr << result.status() << "\n";
    return 1;
  }
  std::ofstream(argv[3], std::ios::binary) << *result;
  return 0;
}
