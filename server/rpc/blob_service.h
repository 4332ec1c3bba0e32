#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "quotient/v1/blob.grpc.pb.h"
#include "server/jobs/blob_store.h"
#include "server/rpc/call_slots.h"

namespace quotient::rpc {

struct BlobLimits {
  int64_t max_chunk_bytes = int64_t{2} << 20;
  int max_streams = 64;  // uploads and downloads at once; more get QUEUE_FULL
};

// quotient.v1.BlobService over the blob and upload stores, borrowed. Synchronous: a stream's thread
// waits for its peer and for the disk, which is all the flow control that is needed.
class BlobService final : public v1::BlobService::Service {
 public:
  BlobService(const BlobLimits& limits, jobs::BlobStore* blobs, jobs::UploadStore* uploads)
      : limits_(limits), blobs_(*blobs), uploads_(*uploads), slots_(limits.max_streams) {}

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

 private:
  absl::Status Missing(const v1::FindMissingRequest& request, v1::FindMissingResponse* response);
  absl::Status Receive(grpc::ServerReader<v1::UploadRequest>& reader, v1::UploadResponse* response);
  absl::Status Send(const v1::DownloadRequest& request,
                    grpc::ServerWriter<v1::DownloadResponse>& writer);

  const BlobLimits limits_;
  jobs::BlobStore& blobs_;
  jobs::UploadStore& uploads_;
  CallSlots slots_;
};

}  // namespace quotient::rpc
