#include "server/rpc/blob_service.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "proto/wire/digest.h"
#include "server/rpc/call_slot.h"
#include "server/rpc/peer.h"
#include "server/rpc/status.h"

namespace quotient::rpc {
namespace {

constexpr int kMaxDigestsPerCall = 1000;
// Of one message of a download. Each download has two of them in memory, one as it is made and one
// on its way.
constexpr size_t kSentBytes = StreamSlots::kWorthwhileBytes;

absl::Status Malformed(absl::string_view message) { return absl::InvalidArgumentError(message); }

absl::Status Unreadable(const BlobId& id) {
  return MakeError(Reason::kBlobCorrupt,
                   absl::StrCat("the server's disk cannot read file ", id.Text(),
                                "; a result is made anew when its job is submitted again"));
}

}  // namespace

grpc::Status BlobService::FindMissing(grpc::ServerContext* /*context*/,
                                      const v1::FindMissingRequest* request,
                                      v1::FindMissingResponse* response) {
  return ToGrpc(Missing(*request, response));
}

absl::Status BlobService::Missing(const v1::FindMissingRequest& request,
                                  v1::FindMissingResponse* response) {
  if (request.blobs_size() > kMaxDigestsPerCall) return Malformed("more than 1000 digests");
  for (const v1::Digest& digest : request.blobs()) {
    QUOTIENT_ASSIGN_OR_RETURN(const BlobId id, wire::FromProto(digest));
    QUOTIENT_ASSIGN_OR_RETURN(const bool present, blobs_.Use(id));
    if (!present) *response->add_missing() = digest;
  }
  return absl::OkStatus();
}

grpc::Status BlobService::StartUpload(grpc::ServerContext* context,
                                      const v1::StartUploadRequest* request,
                                      v1::StartUploadResponse* response) {
  const absl::StatusOr<BlobId> id = wire::FromProto(request->blob());
  if (!id.ok()) return ToGrpc(id.status());
  const absl::StatusOr<jobs::UploadTicket> ticket = uploads_.Start(*id, PeerHost(context->peer()));
  if (!ticket.ok()) return ToGrpc(ticket.status());
  response->set_upload_id(ticket->upload_id);
  response->set_committed_offset(ticket->committed_offset);
  response->set_done(ticket->done);
  return grpc::Status::OK;
}

grpc::Status BlobService::Upload(grpc::ServerContext* context,
                                 grpc::ServerReader<v1::UploadRequest>* reader,
                                 v1::UploadResponse* response) {
  const auto slot = TakeSlot(context, slots_);
  if (!slot.ok()) return ToGrpc(slot.status());
  const auto read = [&](v1::UploadRequest* request) {
    if (!(*slot)->AwaitPeer([&] { return reader->Read(request); })) return false;
    (*slot)->Moved(request->data().size());
    return true;
  };
  return ToGrpc(Receive(read, response));
}

absl::Status BlobService::Receive(ReadFrame read, v1::UploadResponse* response) {
  v1::UploadRequest request;
  if (!read(&request) || !request.has_header()) {
    return Malformed("an upload begins with a header");
  }
  QUOTIENT_ASSIGN_OR_RETURN(
      const std::unique_ptr<jobs::UploadWriter> upload,
      uploads_.Resume(request.header().upload_id(), request.header().offset()));
  while (read(&request)) {
    if (request.has_finish()) {
      QUOTIENT_RETURN_IF_ERROR(upload->Finish());
      response->set_committed_offset(upload->committed_offset());
      response->set_done(true);
      return absl::OkStatus();
    }
    if (!request.has_data()) return Malformed("after the header come data and finish");
    if (static_cast<int64_t>(request.data().size()) > limits_.max_chunk_bytes) {
      return MakeError(Reason::kLimitBytes, absl::StrCat("a chunk of ", request.data().size(),
                                                         " bytes; see GetCapabilities"));
    }
    QUOTIENT_RETURN_IF_ERROR(upload->Append(request.data()));
  }
  // The stream has ended or was lost before `finish`: keep the bytes received so far.
  QUOTIENT_RETURN_IF_ERROR(upload->Flush());
  response->set_committed_offset(upload->committed_offset());
  return absl::OkStatus();
}

grpc::Status BlobService::QueryUpload(grpc::ServerContext* /*context*/,
                                      const v1::QueryUploadRequest* request,
                                      v1::QueryUploadResponse* response) {
  const absl::StatusOr<int64_t> offset = uploads_.CommittedOffset(request->upload_id());
  if (!offset.ok()) return ToGrpc(offset.status());
  response->set_committed_offset(*offset);
  return grpc::Status::OK;
}

grpc::Status BlobService::Download(grpc::ServerContext* context, const v1::DownloadRequest* request,
                                   grpc::ServerWriter<v1::DownloadResponse>* writer) {
  const auto slot = TakeSlot(context, slots_);
  if (!slot.ok()) return ToGrpc(slot.status());
  const auto write = [&](const v1::DownloadResponse& response) {
    if (!(*slot)->AwaitPeer([&] { return writer->Write(response); })) return false;
    (*slot)->Moved(response.data().size());
    return true;
  };
  return ToGrpc(Send(*request, write));
}

absl::Status BlobService::Send(const v1::DownloadRequest& request, WriteChunk write) {
  QUOTIENT_ASSIGN_OR_RETURN(const BlobId id, wire::FromProto(request.blob()));
  if (request.offset() < 0 || request.offset() > id.size_bytes) {
    return absl::OutOfRangeError("offset outside of the blob");
  }
  // Whoever fetches a file fetches others of the same result.
  QUOTIENT_RETURN_IF_ERROR(blobs_.Use(id).status());
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const jobs::Blob> blob, blobs_.Open(id));
  v1::DownloadResponse response;
  absl::string_view rest = blob->bytes().substr(static_cast<size_t>(request.offset()));
  while (!rest.empty()) {
    const absl::string_view chunk = rest.substr(0, kSentBytes);
    response.set_data(chunk.data(), chunk.size());
    // Otherwise all of a blob that was sent stays in this process's memory until the end.
    blob->Release();
    if (blob->damaged()) return Unreadable(id);
    if (!write(response)) return absl::CancelledError("the client is gone");
    rest.remove_prefix(chunk.size());
  }
  return absl::OkStatus();
}

}  // namespace quotient::rpc
