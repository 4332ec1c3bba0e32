#include "client/cpp/blob_client.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "proto/wire/digest.h"

namespace quotient::client {
namespace {

// A server takes a stream for idle whose 64 KiB take long, and counts whole messages.
constexpr int64_t kChunkBytes = int64_t{64} << 10;

// The server is not trusted: an impossible offset must not crash the client or make it loop.
absl::Status CheckOffset(int64_t offset, absl::string_view bytes) {
  if (offset >= 0 && offset <= static_cast<int64_t>(bytes.size())) return absl::OkStatus();
  return MakeError(Reason::kInternal, absl::StrCat("the server says that it has ", offset, " of ",
                                                   bytes.size(), " bytes of an upload"));
}

absl::Status Damaged(const BlobId& id) {
  return MakeError(Reason::kBlobCorrupt, absl::StrCat("blob ", id.Text(), " arrived damaged"));
}

int64_t ChunkBytes(const v1::Capabilities& capabilities) {
  const int64_t most = capabilities.max_chunk_bytes();
  return most > 0 ? std::min(kChunkBytes, most) : kChunkBytes;
}

}  // namespace

// State of an upload that is kept from one attempt to the next.
struct BlobClient::UploadAttempt {
  std::string upload_id;  // Empty if the upload was not started.
  int64_t offset = 0;
  bool done = false;
};

absl::Status BlobClient::Upload(const BlobId& id, absl::string_view bytes) {
  Retry retry = connection_.NewRetry();
  UploadAttempt attempt;
  absl::Status status;
  do {
    const int64_t before = attempt.offset;
    status = TryUpload(id, bytes, &attempt);
    if (attempt.offset > before) retry.Progressed();
    if (absl::IsNotFound(status) || GetReason(status) == Reason::kUploadOffset) {
      // The server has lost the upload, or its offset has changed. The next attempt asks for both.
      if (absl::IsNotFound(status)) attempt = {};
      status = absl::UnavailableError(status.message());
    }
  } while (retry.Again(status));
  return connection_.Annotated(status);
}

absl::Status BlobClient::TryUpload(const BlobId& id, absl::string_view bytes,
                                   UploadAttempt* attempt) {
  if (attempt->upload_id.empty()) {
    v1::StartUploadRequest request;
    *request.mutable_blob() = wire::ToProto(id);
    QUOTIENT_ASSIGN_OR_RETURN(const auto response,
                              (connection_.Unary<v1::StartUploadResponse>(
                                  request, [&](auto* context, const auto& message, auto* answer) {
                                    return stub_->StartUpload(context, message, answer);
                                  })));
    *attempt = {response.upload_id(), response.committed_offset(), response.done()};
    if (attempt->done) return absl::OkStatus();
  } else {
    v1::QueryUploadRequest request;
    request.set_upload_id(attempt->upload_id);
    QUOTIENT_ASSIGN_OR_RETURN(const auto response,
                              (connection_.Unary<v1::QueryUploadResponse>(
                                  request, [&](auto* context, const auto& message, auto* answer) {
                                    return stub_->QueryUpload(context, message, answer);
                                  })));
    attempt->offset = response.committed_offset();
  }
  QUOTIENT_RETURN_IF_ERROR(CheckOffset(attempt->offset, bytes));
  return SendFrom(bytes, *attempt);
}

absl::Status BlobClient::SendFrom(absl::string_view bytes, const UploadAttempt& attempt) {
  grpc::ClientContext context;
  const Interrupt::Handler cancel(&connection_.interrupt(), [&context] { context.TryCancel(); });
  v1::UploadResponse response;
  const std::unique_ptr<grpc::ClientWriter<v1::UploadRequest>> writer =
      stub_->Upload(&context, &response);
  const auto chunk_bytes = static_cast<size_t>(ChunkBytes(connection_.capabilities()));
  v1::UploadRequest request;
  request.mutable_header()->set_upload_id(attempt.upload_id);
  request.mutable_header()->set_offset(attempt.offset);
  bool open = writer->Write(request);
  for (absl::string_view rest = bytes.substr(static_cast<size_t>(attempt.offset));
       open && !rest.empty();) {
    const absl::string_view chunk = rest.substr(0, chunk_bytes);
    request.set_data(chunk.data(), chunk.size());
    open = writer->Write(request);
    rest.remove_prefix(chunk.size());
  }
  request.set_finish(true);
  if (open && writer->Write(request)) writer->WritesDone();
  const absl::Status status = FromGrpc(writer->Finish());
  if (status.ok() && !response.done()) return absl::UnavailableError("the upload was cut off");
  return status;
}

absl::Status BlobClient::Download(const BlobId& id,
                                  absl::FunctionRef<absl::Status(absl::string_view)> sink) {
  Retry retry = connection_.NewRetry();
  Digester digester;
  int64_t offset = 0;
  absl::Status status;
  do {
    grpc::ClientContext context;
    const Interrupt::Handler cancel(&connection_.interrupt(), [&context] { context.TryCancel(); });
    v1::DownloadRequest request;
    *request.mutable_blob() = wire::ToProto(id);
    request.set_offset(offset);
    const auto reader = stub_->Download(&context, request);
    v1::DownloadResponse response;
    while (reader->Read(&response)) {
      const absl::string_view chunk = response.data();
      absl::Status taken =
          static_cast<int64_t>(chunk.size()) > id.size_bytes - offset ? Damaged(id) : sink(chunk);
      if (!taken.ok()) {
        context.TryCancel();
        reader->Finish();
        return taken;
      }
      digester.Update(chunk);
      offset += static_cast<int64_t>(chunk.size());
      retry.Progressed();
    }
    status = FromGrpc(reader->Finish());
  } while (retry.Again(status));
  if (!status.ok()) return connection_.Annotated(status);
  if (BlobId{digester.Finish(), offset} == id) return absl::OkStatus();
  return Damaged(id);
}

}  // namespace quotient::client
