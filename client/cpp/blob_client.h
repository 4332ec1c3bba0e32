#pragma once

// Uploads blobs to a server and downloads them. Transfers are resumed after an interruption and
// checked by digest.

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

  // Uploads a blob, unless the server has it already. `id` must be the id of `bytes`.
  absl::Status Upload(const BlobId& id, absl::string_view bytes);

  // Passes the bytes of the blob to `sink` in order. Returns BLOB_CORRUPT if they do not have the
  // digest, which is known only after the sink has received them. An error of `sink` ends the
  // download and is returned.
  absl::Status Download(const BlobId& id, absl::FunctionRef<absl::Status(absl::string_view)> sink);

 private:
  struct UploadAttempt;

  absl::Status TryUpload(const BlobId& id, absl::string_view bytes, UploadAttempt* attempt);
  absl::Status SendFrom(absl::string_view bytes, const UploadAttempt& attempt);

  const Connection& connection_;
  const std::unique_ptr<v1::BlobService::Stub> stub_;
};

}  // namespace quotient::client
