#pragma once

// Blobs in a store on a disk, taken from a folder as those that the process of a job has made.

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/blob_id.h"
#include "core/base/status_macros.h"
#include "core/os/random_id.h"
#include "server/jobs/blob_store.h"
#include "server/store/disk/blob_store.h"

namespace quotient::testing {

inline absl::StatusOr<BlobId> PutBlob(store::DiskBlobStore& blobs, absl::string_view bytes) {
  const BlobId id = BlobId::Of(bytes);
  const std::string folder = blobs.incoming() + "/made-" + os::RandomId();
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/" + id.digest.Hex(), std::ios::binary) << bytes;
  const absl::Status taken = blobs.Take(folder, id);
  std::filesystem::remove_all(folder);
  QUOTIENT_RETURN_IF_ERROR(taken);
  return id;
}

// Puts what is made into a store on a disk, which is borrowed.
class DiskBlobSink : public jobs::BlobSink {
 public:
  explicit DiskBlobSink(store::DiskBlobStore* blobs) : blobs_(*blobs) {}
  absl::StatusOr<BlobId> Put(absl::string_view bytes) override { return PutBlob(blobs_, bytes); }

 private:
  store::DiskBlobStore& blobs_;
};

}  // namespace quotient::testing
