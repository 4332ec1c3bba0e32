#include "server/jobs/blob_store.h"

#include "core/base/status_macros.h"

namespace quotient::jobs {

absl::StatusOr<std::shared_ptr<const Blob>> OpenVerified(BlobStore& blobs, const BlobId& id) {
  QUOTIENT_RETURN_IF_ERROR(blobs.Verify(id));
  return blobs.Open(id);
}

}  // namespace quotient::jobs
