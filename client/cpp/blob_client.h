#pragma once

// Bytes to and from a server: resumed where they stopped, checked by digest.

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/connection.h"
#include "core/base/blob_id.h"
#include "quotient/v1/blob.grpc.pb.h"

namespace quotient::client {

// Thread-safe.
class BlobClient {
 public:
  // Borrows the connection.
  explicit BlobClient(const Connection* connection)
      : connection_(*connection), stub_(v1::BlobService::NewStub(connection->channel())) {}

  // Does nothing if the server has the blob. `id` must be that of `bytes`.
  absl::Status Upload(const BlobId& id, absl::string_view bytes);

  // Hands the blob's bytes to `sink` in order. BLOB_CORRUPT if they turn out not to be the blob's,
  // after the sink has seen them.
  absl::Status Download(const BlobId& id, absl::FunctionRef<absl::Status(absl::string_view)> sink);

 private:
  struct UploadAttempt;

  absl::Status TryUpload(const BlobId& id, absl::string_view bytes, UploadAttempt* attempt);
  absl::Status SendFrom(absl::string_view bytes, const UploadAttempt& attempt);

  const Connection& connection_;
  const std::unique_ptr<v1::BlobService::Stub> stub_;
};

}  // namespace quotient::client
