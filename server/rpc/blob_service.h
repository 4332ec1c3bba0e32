#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/clock.h"
#include "quotient/v1/blob.grpc.pb.h"
#include "server/jobs/blob_store.h"
#include "server/rpc/early_handler.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

struct BlobLimits {
  int64_t max_chunk_bytes = int64_t{2} << 20;
  SlotLimits streams;  // Uploads and downloads at once.
  // A stream whose client is silent for this long is cut off. The client may resume it.
  int64_t max_idle_ms = 60'000;
};

// Implements quotient.v1.BlobService on the blob and upload stores. Borrows the stores and the
// clock. The service is synchronous: the thread of a stream waits for its peer and for the disk,
// so no other flow control is needed.
class BlobService final : public v1::BlobService::Service {
 public:
  BlobService(const BlobLimits& limits, jobs::BlobStore* blobs, jobs::UploadStore* uploads,
              const Clock* clock)
      : limits_(limits),
        blobs_(*blobs),
        uploads_(*uploads),
        slots_(limits.streams, "uploads and downloads", clock) {
    const auto hand_over_early = [this](auto method) {
      MarkMethodStreamed(NumberOf<v1::BlobService>(method), EarlyHandler(this, method));
    };
    hand_over_early(&BlobService::FindMissing);
    hand_over_early(&BlobService::StartUpload);
    // Upload is handed over early in any case.
    hand_over_early(&BlobService::QueryUpload);
    hand_over_early(&BlobService::Download);
  }

  // Cuts off streams whose clients are silent for too long. To be called every few seconds.
  void CancelIdle() { slots_.CancelIdle(limits_.max_idle_ms); }

  grpc::Status FindMissing(grpc::ServerContext* context, const v1::FindMissingRequest* request,
                           v1::FindMissingResponse* response) override;
  grpc::Status StartUpload(grpc::ServerContext* context, const v1::StartUploadRequest* request,
                           v1::StartUploadResponse* response) override;
  grpc::Status Upload(grpc::ServerContext* context, grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override;
  grpc::Status QueryUpload(grpc::ServerContext* context, const v1::QueryUploadRequest* request,
                           v1::QueryUploadResponse* response) override;
  grpc::Status Download(grpc::ServerContext* context, const v1::DownloadRequest* request,
                        grpc::ServerWriter<v1::DownloadResponse>* writer) override;

  // Upload and Download without gRPC: the streams are functions, which take the next message from
  // the client or give it one, and return false if there will be no more.
  using ReadFrame = absl::FunctionRef<bool(v1::UploadRequest*)>;
  using WriteChunk = absl::FunctionRef<bool(const v1::DownloadResponse&)>;
  absl::Status Receive(ReadFrame read, v1::UploadResponse* response);
  absl::Status Send(const v1::DownloadRequest& request, WriteChunk write);

 private:
  absl::Status Missing(const v1::FindMissingRequest& request, v1::FindMissingResponse* response);

  const BlobLimits limits_;
  jobs::BlobStore& blobs_;
  jobs::UploadStore& uploads_;
  StreamSlots slots_;
};

}  // namespace quotient::rpc
